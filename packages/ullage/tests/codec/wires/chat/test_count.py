import json

from tests.codec.streams import request, user
from ullage.codec.blocks import Options
from ullage.codec.history import encode_count
from ullage.codec.wires.chat import WIRE
from ullage.messages import Tool

LLAMA, VLLM, OLD_LLAMA = WIRE.counts


def test_llama_cpp_is_given_the_request_without_what_shapes_the_answer() -> None:
    asked = request("chat", user(), tools=(Tool(name="f"),))
    counted = encode_count(asked, way=LLAMA, options=Options(max_output=9))
    assert counted is not None
    assert counted.path == "/chat/completions/input_tokens"
    body = json.loads(counted.content)
    assert set(body) == {"model", "messages", "tools"}


def test_vllm_is_given_what_its_template_sees() -> None:
    asked = request("chat", user(), tools=(Tool(name="f"),))
    counted = encode_count(asked, way=VLLM, options=Options(temperature=0.5))
    assert counted is not None
    assert counted.path == "/tokenize" and VLLM.at_root
    body = json.loads(counted.content)
    assert set(body) == {"model", "messages", "tools", "add_generation_prompt"}


def test_an_older_llama_cpp_is_given_the_request_to_write_it_as_a_text() -> None:
    asked = request("chat", user(), tools=(Tool(name="f"),))
    counted = encode_count(asked, way=OLD_LLAMA, options=Options(max_output=9))
    assert counted is not None
    assert counted.path == "/apply-template" and OLD_LLAMA.at_root
    assert set(json.loads(counted.content)) == {"model", "messages", "tools"}
