"""An engine's name -> a rule file to begin with: it passes the check as it stands, and says what each key is for.

Law of this file: what the template says is what docs/writing-rules.md says, in fewer words.
"""

from __future__ import annotations

from logphase.rules import FORMAT

_FOR_ALL = '# engine = "sglang"                    # only for this engine; without it, for all'
_HEAD = "[2026-01-02 03:04:05] "
_RULES = """# Rules over the bundled ones: added, put in the place of one with the same id, or switched off.
# Keep it in ~/.config/logphase/rules/, or give it with --rules. Check it: logphase rules check FILE

format = {format}
# engine = "sglang"                    # only for this engine; without it, for all
# off = ["access"]                     # ids of bundled rules, headers or wrappers that are not wanted

# A phase of the same id keeps what you do not say: here more patience, nothing else.
# [[phase]]
# id = "weights"
# patience_s = 3600

[[rule]]
id = "my-plugin-loaded"                # lower-case words with hyphens, one of a kind
phase = "any"                          # a phase of the engine; "any": none in particular; "open": the one that is open now
edge = "note"                          # begin, end, point, progress, ready, fatal, warn, note, heartbeat …: what the line does
contains = "my_plugin:"                # a text that every match holds
pattern = '^my_plugin: loaded (?P<modules>\\d+) modules in (?P<elapsed_s>[\\d.]+) s'
types = {{ modules = "int", elapsed_s = "float" }}
examples = ['[2026-01-02 03:04:05] my_plugin: loaded 3 modules in 1.25 s']
# counterexamples = ['…']              # demanded for ready and fatal
# remedy = "…"                         # demanded for fatal: what to do
"""

_ENGINE = """# How the log of {name} looks: keep it in ~/.config/logphase/rules/, or give it with --rules.
# Check it: logphase rules check FILE. Then try it: logphase report server.log --rules FILE

format = {format}
engine = "{name}"
tested_with = ["1.0.0"]                # versions whose wording was checked: one, or oldest and newest
claims = ["{name}: starting"]          # texts that only this engine prints: the first one in a log chooses its rules

[[header]]                             # what stands before the message; groups: time, rank, level
id = "{name}"
pattern = '^(?P<time>\\d{{4}}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d) (?P<level>[A-Z]+) '
examples = ['2026-01-02 03:04:05 INFO {name}: starting']

[[phase]]
id = "weights"
title = "Load weights"
patience_s = 600                       # how long it may be silent before it counts as stalled
why = "a large model on a slow disk prints nothing for minutes"
process = "launcher"                   # launcher: one process prints it; scheduler: each rank does
ranks = "launcher"

[[rule]]
id = "{name}-weights-begin"
phase = "weights"
edge = "begin"
contains = "{name}: loading"
pattern = '^{name}: loading (?P<model>\\S+)'
examples = ['2026-01-02 03:04:06 INFO {name}: loading /models/a']

[[rule]]
id = "{name}-weights-end"
phase = "weights"
edge = "end"
contains = "{name}: loaded"
pattern = '^{name}: loaded in (?P<elapsed_s>[\\d.]+) s'
types = {{ elapsed_s = "float" }}
examples = ['2026-01-02 03:04:18 INFO {name}: loaded in 12.5 s']

[[rule]]
id = "{name}-ready"
phase = "serving"
edge = "ready"
contains = "{name}: ready"
pattern = '^{name}: ready on port (?P<port>\\d+)$'
types = {{ port = "int" }}
examples = ['2026-01-02 03:04:19 INFO {name}: ready on port 8000']
counterexamples = ['2026-01-02 03:04:19 INFO {name}: ready on port 8000 soon']
"""


def template(engine: str = "", head: str = "") -> str:
    """Rules over those of all engines, or the first rules of a new one; with `head`, which begins an engine's lines, over its rules."""
    text = (_RULES if head or not engine else _ENGINE).format(name=engine, format=FORMAT)
    return text.replace(_FOR_ALL, f'engine = "{engine}"', 1).replace(_HEAD, head) if head else text
