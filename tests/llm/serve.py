"""Serve a gguf on a free port of this machine: `python -m tests.llm.serve FILE.gguf`. Prints its URL.

llama.cpp's own server, out of the wheel `xllamacpp`. One thread: on a busy machine its threads wait for each other by
spinning, and two are slower than one by a factor of eight.
"""

from __future__ import annotations

import signal
import sys

import xllamacpp


def main(path: str) -> None:
    settings = xllamacpp.CommonParams()
    settings.model.path = path
    settings.port = 0
    settings.n_ctx = 8192
    settings.n_parallel = 1
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = 1
    settings.model_alias = {"small"}
    settings.ui = False
    server = xllamacpp.Server(settings)
    print(f"serving {server.listening_address}", flush=True)
    signal.pause()


if __name__ == "__main__":
    main(sys.argv[1])
