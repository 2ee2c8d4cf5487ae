"""The world -> Chunks. Below the command line, only this package touches files, pipes, watchdog and the clock.

- `read(path)`: a finished log, up to its present end; also .gz, .zst and standard input
- `follow(paths)`: what is written from now on, through rotation, truncation and deletion
- `find_last_launch(path, …)`: where in a huge file the last startup begins
- `Position`, `resume(…)`: how far a log was read, kept between two calls
"""

from logphase.sources.arrivals import launches
from logphase.sources.chunk import Change, Chunk
from logphase.sources.files import count_lines, find_last_launch, read
from logphase.sources.follow import Follower, follow
from logphase.sources.incarnation import Position, resume
from logphase.sources.tail import FileTail, StreamTail, Tail, open_tail

__all__ = [
    "Change",
    "Chunk",
    "FileTail",
    "Follower",
    "Position",
    "StreamTail",
    "Tail",
    "count_lines",
    "find_last_launch",
    "follow",
    "launches",
    "open_tail",
    "read",
    "resume",
]
