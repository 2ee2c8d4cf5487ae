"""Text -> the same text without secrets: every quoted line, cause and argument passes here before a view shows it.

Law of this file: only the secret itself changes, to `***`; names, quotes and all other text stay. A value is a secret because of its
name (`api_key=…`, `--hf-token …`) or of its own shape (`sk-…`, `Bearer …`, `https://user:password@host`). Names that merely sound
like one (`tokenizer_path`, `max_total_tokens`, `eos_token`) are left alone, and so are None, booleans and numbers of tokens.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

MASK = "***"
_AFTER_HEAD = r"\1***"

_ALWAYS = ("secret", "password", "passwd", "passphrase", "credential")
_KEYS = ("apikey", "accesskey", "accesskeyid", "privatekey", "masterkey", "encryptionkey", "watermarkkey", "signingkey", "accountkey")
_SIGNED = ("xamzsignature", "xamzcredential", "xamzsecuritytoken", "proxyauthorization", "setcookie", "cookie")

# Words that make a `…_token` a piece of text or a rate, not a secret.
_PLAIN_TOKENS = frozenset(
    re.findall(
        r"\w+",
        """first next last per bos eos pad unk sep cls mask image video audio stop start end special single by each think inter output
        input draft accepted prompt new decode prefill reserved to num max min of a the every unexpected invalid""",
    )
)
_KEPT = frozenset({"", "none", "null", "true", "false", "nil", "unset", MASK})

# A name and what stands between it and its value: `name=`, `"name": `, `\"name\": `, `--name value`, `'--name', 'value'`.
_NAME = re.compile(
    r"""(?<![\w-])(?P<option>--)?(?P<name>[A-Za-z_][\w-]*+)
        (?P<sep>\\*["']?\s*+(?P<sign>[:=])\s*+ | (?(option)\\*["']?,?\s++ | (?!)))""",
    re.VERBOSE,
)
_VALUE = re.compile(
    r"""(?P<open>\\*["'])(?P<quoted>(?:(?!(?P=open))(?:\\.|.))*+)(?P<close>(?P=open))?+
      | (?P<list>\[[^\]]*+\]?+)
      | (?P<bare>[^\s,;&)}\]"'\\]++)""",
    re.VERBOSE | re.DOTALL,
)
_ITEM = re.compile(r"""(["'])(.*?)(\1|\Z)""", re.DOTALL)

_SHAPES = (
    (
        re.compile(r"""(?i)((?<![\w-])(?:proxy-)?authorization\\*["']?\s*[:=]\s*\\*["']?(?:(?:bearer|basic|token)\s+)?)[^\s,;"'\\]+"""),
        _AFTER_HEAD,
    ),
    (re.compile(r"(?i)(?<!\w)(bearer\s+)(?=[\w.~+/-]*\d|[\w.~+/-]{20})[\w.~+/-]{8,}=*"), _AFTER_HEAD),
    (re.compile(r"(?<![\w-])sk-[\w-]{6,}"), MASK),
    (re.compile(r"(?<!\w)hf_(?=[A-Za-z]*[\dA-Z]|[a-z]{20})[A-Za-z0-9]{8,}(?!\w)"), MASK),
    (re.compile(r"(?<!\w)(?:AKIA|ASIA)[A-Z0-9]{16}(?!\w)"), MASK),
    (re.compile(r"(?<!\w)(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abprs]-[\w-]{10,}|nvapi-[\w-]{16,})"), MASK),
    (re.compile(r"(?<!\w)AIza[\w-]{30,}"), MASK),
    (re.compile(r"(?<!\w)eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"), MASK),
    (re.compile(r"(?<=[?&])((?:sig|signature|key)=)[^\s&\"']+"), _AFTER_HEAD),
    (re.compile(r"(?<=://)([^\s/:@\"']*:)[^\s/\"']+(?=@)"), _AFTER_HEAD),
)


def redact(text: str) -> str:
    """Mask every secret in one line of a log."""
    for pattern, masked in _SHAPES:
        text = pattern.sub(masked, text)
    return _mask_named(text)


def redact_arguments(arguments: Mapping[str, object]) -> dict[str, object]:
    """The arguments of a launch with every secret masked, nested values too."""
    return {name: _argument(name, value) for name, value in arguments.items()}


def _argument(name: str, value: object) -> object:
    if isinstance(value, dict):
        return {key: _argument(str(key), inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_argument(name, inner) for inner in value]
    if value is None or isinstance(value, bool):
        return value
    if _is_secret(name, "=") and not _is_kept(name, str(value)):
        return MASK
    return redact(value) if isinstance(value, str) else value


def _mask_named(text: str) -> str:
    parts: list[str] = []
    at = 0
    for name in _NAME.finditer(text):
        if name.start() < at or not _is_secret(name["name"], name["sign"] or "=", quoted=name["sep"][:1] in ("'", '"', "\\")):
            continue
        value = _VALUE.match(text, name.end())
        if value is None:
            continue
        parts += text[at : name.end()], _masked(name["name"], value)
        at = value.end()
    return "".join((*parts, text[at:]))


def _masked(name: str, value: re.Match[str]) -> str:
    if value["list"] is not None:
        return _ITEM.sub(lambda item: f"{item[1]}{MASK}{item[3]}", value["list"])
    if value["open"] is not None:
        return value[0] if _is_kept(name, value["quoted"]) else f"{value['open']}{MASK}{value['close'] or ''}"
    return value[0] if value["bare"].startswith("--") or _is_kept(name, value["bare"]) else MASK


def _is_secret(name: str, sign: str, *, quoted: bool = True) -> bool:
    """Tell by its name that an argument, a variable or a header holds a secret."""
    words = [word for word in re.split(r"[_-]+", name.casefold()) if word]
    joined = "".join(words)
    if joined.removesuffix("s").endswith(_KEYS) or joined in _SIGNED:
        return True
    if any(word.startswith(_ALWAYS) for word in words) and words[-1] not in ("path", "file", "name", "provider"):
        return True
    if words[-1:] != ["token"]:
        return False
    if len(words) == 1:  # prose says "unexpected token: x"
        return quoted or sign == "="
    return words[-2] not in _PLAIN_TOKENS


def _is_kept(name: str, value: str) -> bool:
    """What stands where a secret could stand, and tells nothing: None, a boolean, a number of tokens."""
    if value.casefold() in _KEPT:
        return True
    return "token" in name.casefold() and re.fullmatch(r"-?\d{1,9}(?:\.\d+)?", value) is not None
