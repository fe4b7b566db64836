"""A fifth wire is a folder, and its name in the registry: one is added to a copy of the package."""

import shutil
from pathlib import Path

import ullage
from tests.processes import run_python

FOLDER = Path(__file__).parent / "fixtures" / "telegraph"
SOURCE = Path(ullage.__file__).parent

USE = r"""
from ullage.codec.blocks import Options
from ullage.codec.bodies import read_body
from ullage.codec.decode import decoder_for
from ullage.codec.dialects import dialect_for, normalise
from ullage.codec.history import History
from ullage.codec.params import owned_in, split
from ullage.codec.problems import read_problem
from ullage.codec.stream import ServerEvent
from ullage.codec.wires import default_output
from ullage.errors import Overflow
from ullage.messages import Message, Request, SystemBlock, TextPart
from ullage.wire.endpoints import endpoint_for

hello = Message(id="u1", role="user", parts=(TextPart(id="u1.1", text="hello"),))
request = Request(wire="telegraph", model="key", system=(SystemBlock(text="Be brief."),), messages=(hello,))

made = History().prepare(request, options=Options(max_output=9))
assert made.content == b'{"model":"key","lines":["user: hello"],"heading":"Be brief.","words":9}', made.content
assert read_body({"model": "key", "lines": ["user: hello"]}).wire == "telegraph"
assert read_body({"model": "key", "lines": ["user: hello"]}).messages[0].parts[0].text == "hello"

decoder = decoder_for(request, message_id="a1")
for data in (b'{"word":"well"}', b'{"word":" met","stop":true,"cost":{"sent":7,"got":2}}'):
    decoder.feed(ServerEvent(data))
answer = decoder.finish(True)
assert (answer.message.parts[0].text, answer.outcome) == ("well met", "finished")
assert (answer.usage.input, answer.usage.output, answer.usage.dialect) == (7, 2, "telegraph")
assert normalise(dialect_for("telegraph"), {"sent": 3}).input == 3

refused = b'{"error": "the telegram of 900 words exceeds 600"}'
problem = read_problem("telegraph", 400, {}, refused)
assert isinstance(problem, Overflow)
assert (problem.count, problem.limit) == (900, 600)
failed = decoder_for(request, message_id="a2").read(refused)
assert isinstance(failed.error, Overflow)

assert default_output("telegraph") == 25
assert owned_in({"lines": []}, "telegraph") == ("lines",)
assert split({"words": 5, "ink": 1}, "telegraph").beyond == ("ink",)
endpoint, model = endpoint_for("key", base_url="http://127.0.0.1:9", wire="telegraph")
assert (endpoint.wire, endpoint.base_url, model) == ("telegraph", "http://127.0.0.1:9/v9", "key")
"""


def test_a_fifth_wire_is_a_folder_and_its_lines_in_the_registry(tmp_path: Path) -> None:
    package = tmp_path / "ullage"
    shutil.copytree(SOURCE, package, ignore=shutil.ignore_patterns("__pycache__"))
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(FOLDER, package / "codec" / "wires" / "telegraph", ignore=ignore)
    registry = package / "codec" / "wires" / "__init__.py"
    source = registry.read_text("utf-8")
    changed = source.replace(
        "import anthropic, ", "import telegraph, anthropic, "
    ).replace("_LISTED: Final = (", "_LISTED: Final = (telegraph.WIRE, ")
    assert changed.count("telegraph") == 2
    registry.write_text(changed, "utf-8")
    ran = run_python("-c", USE, cwd=tmp_path, env={"PYTHONPATH": str(tmp_path)})
    assert ran.returncode == 0, ran.stderr
