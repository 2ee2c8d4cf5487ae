"""The arguments of a launch that matter to its startup, in groups, under the names that versions of the engines gave them."""

from __future__ import annotations

_NAMES = {
    "Model": """
        model_path model tokenizer_path revision load_format model_loader_extra_config download_dir trust_remote_code
        dtype quantization kv_cache_dtype context_length max_model_len json_model_override_args is_embedding
        enable_multimodal
    """,
    "Loading": """
        weight_loader_prefetch_checkpoints weight_loader_disable_mmap checkpoint_engine_wait_weights_before_ready
        startup_weight_load_mode weight_cache_mode cpu_offload_gb safetensors_load_strategy
    """,
    "Topology": """
        tp_size tensor_parallel_size pp_size pipeline_parallel_size dp_size attn_dp_size data_parallel_size ep_size
        enable_expert_parallel attn_cp_size moe_dp_size enable_dp_attention nnodes node_rank dist_init_addr dist_timeout
        base_gpu_id
    """,
    "Memory": """
        mem_fraction_static gpu_memory_utilization max_total_tokens max_running_requests max_num_seqs page_size
        block_size chunked_prefill_size max_prefill_tokens max_num_batched_tokens enable_hierarchical_cache
        hicache_ratio hicache_size hicache_storage_backend
    """,
    "Kernels": """
        attention_backend prefill_attention_backend decode_attention_backend moe_runner_backend moe_a2a_backend
        deepep_mode disable_flashinfer_autotune enable_torch_compile torch_compile_max_bs
    """,
    "Graphs": """
        disable_cuda_graph enforce_eager cuda_graph_max_bs cuda_graph_bs disable_cuda_graph_padding
        enable_piecewise_cuda_graph disable_piecewise_cuda_graph cuda_graph_config piecewise_cuda_graph_tokens
        compilation_config
    """,
    "Speculative decoding": """
        speculative_algorithm speculative_draft_model_path speculative_num_steps speculative_eagle_topk
        speculative_num_draft_tokens speculative_draft_load_format speculative_attention_mode enable_multi_layer_eagle
        speculative_config
    """,
    "Serving": """
        host port skip_server_warmup warmups disaggregation_mode skip_tokenizer_init tokenizer_worker_num log_level
        log_level_http watchdog_timeout soft_watchdog_timeout enable_metrics grpc_mode smg_grpc_mode encoder_only
        language_only enable_lora lora_paths
    """,
}

GROUPS: dict[str, tuple[str, ...]] = {title: tuple(names.split()) for title, names in _NAMES.items()}
