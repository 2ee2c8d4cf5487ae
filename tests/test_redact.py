"""Secrets are masked wherever they stand, and nothing else changes."""

from __future__ import annotations

import re
import string
from time import perf_counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logphase.redact import MASK, redact, redact_arguments

MASKED = [
    ("api_key='abc', admin_api_key=\"x y\", port=1", "api_key='***', admin_api_key=\"***\", port=1"),
    (
        "ServerArgs(model_path='a', api_key='x', ssl_keyfile_password='z')",
        "ServerArgs(model_path='a', api_key='***', ssl_keyfile_password='***')",
    ),
    ("python -m x --api-key X1 --port 3", "python -m x --api-key *** --port 3"),
    ("--api-key=abc --hf-token 'a b'", "--api-key=*** --hf-token '***'"),
    ("['--api-key', 'q', '--port', '30000']", "['--api-key', '***', '--port', '30000']"),
    ('{"hf_token": "x", "a": 1}', '{"hf_token": "***", "a": 1}'),
    ('extra=\'{\\"api_key\\": \\"x\\", \\"b\\": 1}\'', 'extra=\'{\\"api_key\\": \\"***\\", \\"b\\": 1}\''),
    (r"api_key='ab\'cd', b=1", "api_key='***', b=1"),
    ("cut off: api_key='abc", "cut off: api_key='***"),
    ("api_keys=['a', 'b'], c=['d']", "api_keys=['***', '***'], c=['d']"),
    ("HF_TOKEN=abc OPENAI_API_KEY=q python", "HF_TOKEN=*** OPENAI_API_KEY=*** python"),
    ("aws_secret_access_key=abc/d+g AWS_SESSION_TOKEN=qq", "aws_secret_access_key=*** AWS_SESSION_TOKEN=***"),
    ("aws_access_key_id: AKIAABCDEFGHIJKLMNOP", "aws_access_key_id: ***"),
    ("AKIAABCDEFGHIJKLMNOP is used", "*** is used"),
    ("Authorization: Bearer abc", "Authorization: Bearer ***"),
    ("{'authorization': 'Basic dXNlcjpw'}", "{'authorization': 'Basic ***'}"),
    ("curl -H 'x-api-key: abc'", "curl -H 'x-api-key: ***'"),
    ("sent Bearer eyfoobar1234", "sent Bearer ***"),
    ("with sk-abc123def and hf_abcDEF123456", "with *** and ***"),
    ("https://user:p@ss@host/x?a=b", "https://user:***@host/x?a=b"),
    ("redis://:pw@host:1", "redis://:***@host:1"),
    ("https://s3/x?X-Amz-Signature=abc&X-Amz-Date=2", "https://s3/x?X-Amz-Signature=***&X-Amz-Date=2"),
    ("watermark_secret=12345, watermark_key='k'", "watermark_secret=***, watermark_key='***'"),
    ("password=1234", "password=***"),
    ("token='abc'", "token='***'"),
]

KEPT = [
    "tokenizer_path='/m', tokenizer_mode='auto', max_total_tokens=4096, num_tokens=5, skip_tokenizer_init=False",
    "speculative_token_map=None, speculative_token_map='/maps/hot.pt', token_ids_logprob=None",
    "bucket_time_to_first_token=[0.1, 1.0], bucket_inter_token_latency=[0.1], eos_token='</s>', bos_token=\"<s>\"",
    "api_key=None, admin_api_key=None, hf_token='', ssl_keyfile='/etc/key.pem', ssl_keyfile_password=None",
    "routing_key=None, extra_key='abc', bootstrap_pair_key=None, return_prompt_token_ids=False, num_new_token=7",
    "max_total_num_tokens=1123039, #new-token: 5, #cached-token: 0, token usage: 0.00",
    "Unexpected token: foo at 3; hf_transfer, hf_transformers, hf_quant_config; task-force-one",
    "Bearer authentication is on; basic authentication",
    "http://127.0.0.1:30000/generate and /srv/x:y@z",
    "[2026-11-30 01:00:00 TP0] Load weight begin. avail mem=137.33 GB",
    "--hf-token --port 3",
]


@pytest.mark.parametrize(("text", "expected"), MASKED)
def test_masks_secrets_and_keeps_the_shape(text: str, expected: str) -> None:
    """A secret becomes three stars; quotes, names and neighbours stay."""
    assert expected == redact(text)


@pytest.mark.parametrize("text", [masked for _, masked in MASKED])
def test_masking_twice_changes_nothing(text: str) -> None:
    """What is masked already is left alone."""
    assert text == redact(text)


@pytest.mark.parametrize("text", KEPT)
def test_leaves_look_alikes_alone(text: str) -> None:
    """Names that only sound like a secret, and values that tell nothing, stay as they are."""
    assert text == redact(text)


@given(st.text(alphabet=string.ascii_lowercase + string.digits + " =:,'\"[](){}\\/\n", max_size=200))
def test_never_changes_text_without_secrets(text: str) -> None:
    """Text in which no secret is named, and which has no secret's shape, comes out as it went in."""
    quiet = re.sub("api|key|token|secret|passw|passphrase|credential|cookie|auth|bearer|://", "", text)
    for word in ("sig", "signature", "sk", "hf"):
        quiet = quiet.replace(word, "")

    assert quiet == redact(quiet) or re.search("api|key|token|secret|passw|credential|cookie|auth|bearer|://", quiet)


@given(st.text(alphabet=string.ascii_letters + string.digits + "/+_-.", min_size=1, max_size=40), st.sampled_from("'\""))
def test_never_shows_a_quoted_secret(secret: str, quote: str) -> None:
    """Whatever stands in quotes behind `api_key=` is gone."""
    kept = secret.casefold() in ("none", "null", "true", "false", "nil", "unset")
    shown = secret if kept else "***"

    assert f"a=1, api_key={quote}{shown}{quote}, z=2" == redact(f"a=1, api_key={quote}{secret}{quote}, z=2")


@pytest.mark.parametrize(
    "text", ["a", "-", "api_key='", "sk-", "bearer a", "--a ", "token=", '"', "\\", "a    ", "authorization=   ", "://a:"]
)
def test_takes_linear_time_on_hostile_lines(text: str) -> None:
    """No line makes a pattern run away."""
    began = perf_counter()
    redact(text * (200_000 // len(text)))

    assert perf_counter() - began < 5


def test_masks_arguments_by_name_nested_ones_too() -> None:
    """Arguments keep their types and order; only the secrets' values change."""
    arguments = {
        "model_path": "/m",
        "api_key": "abc",
        "admin_api_key": None,
        "max_total_tokens": 4096,
        "hf_token": "hf_x",
        "skip_tokenizer_init": False,
        "ssl_keyfile_password": 1234,
        "speculative_token_map": "/maps/hot.pt",
        "override": {"api_key": "abc", "lr": [1, 2]},
        "dist_init_addr": "tcp://u:p@h:1",
        "api_keys": ("a", "b"),
    }

    assert {
        "model_path": "/m",
        "api_key": MASK,
        "admin_api_key": None,
        "max_total_tokens": 4096,
        "hf_token": MASK,
        "skip_tokenizer_init": False,
        "ssl_keyfile_password": MASK,
        "speculative_token_map": "/maps/hot.pt",
        "override": {"api_key": MASK, "lr": [1, 2]},
        "dist_init_addr": "tcp://u:***@h:1",
        "api_keys": [MASK, MASK],
    } == redact_arguments(arguments)
