"""Whether an error, or an answer without one, means that the request did not fit; and the numbers it names.

One row a wording, its source beside it: an issue or a test where somebody quotes what the server really sent. Groups
named ``limit``, ``count``, ``output`` and ``total`` are tokens; ``total`` is input and output together; ``most`` is
bytes or images. A number that is none of these (MiniMax's error code, Ollama's difference, Titan's characters) is not
read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

from ullage.codec.stream import Answer


@dataclass(frozen=True, slots=True)
class Measures:
    """Tokens that an overflow named: what fits, what was sent, and the output that was asked for beside it.

    ``most`` is how many bytes or images are taken, where the wording is about those.
    """

    limit: int | None = None
    count: int | None = None
    max_output: int | None = None
    most: int | None = None


class Wording(NamedTuple):
    """How one server says that a request is too long.

    ``in_bytes``: what was too long is the body, not the tokens. ``in_images``: there were too many of them, and of
    files where they are counted with them; ``{most}`` is how many are taken, of either, and ``most`` the same where the
    wording does not say it. ``input_alone``: the limit it names is not the window but the most that may be sent,
    without the output.
    """

    provider: str
    pattern: str
    source: str
    in_bytes: bool = False
    in_images: bool = False
    input_alone: bool = False
    most: int | None = None


MANY_IMAGES: Final = 20
"""The most images of which one may be large, for Claude: https://platform.claude.com/docs/en/build-with-claude/vision."""

_GH: Final = "https://github.com/"
_VALS: Final = _GH + "vals-ai/model-library (tests: messages collected from the providers)"
_PI: Final = _GH + "badlogic/pi-mono/blob/main/packages/ai/src/utils/overflow.ts"

WORDINGS: Final[tuple[Wording, ...]] = (
    # Anthropic, also behind Bedrock, Vertex and gateways
    Wording("anthropic", r"prompt is too long: {count} tokens? > {limit}", _GH + "boldsoftware/exe.dev/issues/62"),
    Wording(
        "anthropic",
        r"input length and `?max_tokens`? exceed context limit:\s+{count}\s*\+\s*{output}\s*>\s*{limit}",
        _GH + "docker/docker-agent/issues/569",
    ),
    Wording("anthropic", r"request size exceeds model context window", _GH + "anthropics/claude-code/issues/6380"),
    Wording(
        "anthropic",
        r"request_too_large|request exceeds the maximum size",
        _GH + "anthropics/anthropic-sdk-python/issues/938",
        in_bytes=True,
    ),
    Wording(
        "anthropic",
        r"too many images and documents: \d+ \+ \d+ > {most}",
        _GH + "anthropics/claude-code/issues/23392",
        in_images=True,
    ),
    Wording(
        "anthropic",
        r"too much media: \d+ document pages \+ \d+ images > {most}",
        _GH + "anthropics/claude-code/issues/3397",
        in_images=True,
    ),
    Wording(
        "anthropic",
        r"image dimensions exceeds? max allowed size for many-images? requests",
        _GH + "anthropics/claude-code/issues/52220",
        in_images=True,
        most=MANY_IMAGES,
    ),
    # OpenAI and those who took over its sentence: Azure, DeepSeek, vLLM, OpenRouter's providers
    Wording("openai", r"exceeds the context window of this model", _GH + "dyad-sh/dyad/issues/1672"),
    Wording(
        "openai",
        r"maximum context length is {limit} tokens\.? however, your messages resulted in {count} tokens",
        _GH + "microsoft/kernel-memory/issues/516",
    ),
    Wording(
        "azure",
        r"maximum context length is {limit} tokens\.? however, you requested {total} ?tokens"
        r" \([^)]*? in the messages,.*?{output} in the completion\)",
        _GH + "Azure/azure-sdk-for-net/issues/41892",
    ),
    Wording(
        "openai",
        r"maximum context length is {limit} tokens, however you requested {total} tokens"
        r" \({count} in your prompt; {output} for the completion\)",
        _GH + "fierceX/Document_QA/issues/3",
    ),
    Wording(
        "openrouter",
        r"maximum context length is {limit} tokens\. however, you requested about {total} tokens"
        r" \([^)]*?{output} in the output\)",
        _GH + "Aider-AI/aider/issues/3721",
    ),
    Wording(
        "openrouter",
        r"maximum context length is {limit} tokens\. however, you requested about {count} tokens",
        _GH + "refly-ai/refly/issues/1177",
    ),
    Wording(
        "vllm",
        r"maximum context length is {limit} tokens\. however, you requested {output} output tokens"
        r" and your prompt contains at least {count} input tokens",
        _GH + "AIDotNet/OpenCowork/issues/82",
    ),
    Wording(
        "vllm",
        r"maximum context length is {limit} tokens\. however, your request has {count} input tokens plus {output} ",
        _GH + "vllm-project/vllm/pull/33425",
    ),
    Wording(
        "vllm",
        r"maximum context length is {limit} tokens\. however, your request has {count} input tokens",
        _GH + "vllm-project/vllm/pull/33425",
    ),
    Wording(
        "vllm",
        r"is too large: {output}\. this model's maximum context length is {limit} tokens"
        r" and your request has {count} input tokens",
        _GH + "canfieldjuan/finetunelab.ai/blob/main/docs/MAX_TOKENS_CONTEXT_OVERFLOW_FIX.md",
    ),
    Wording(
        "vllm",
        r"prompt \(total length {count}\) is too long to fit into the model \(context length {limit}\)",
        _GH + "vllm-project/vllm/issues/12165",
    ),
    # What is left for the output, when the prompt alone is longer than the window.
    Wording("vllm", r"max_tokens must be at least 1, got -\d", _GH + "vllm-project/vllm/issues/4667"),
    # Google
    Wording(
        "gemini",
        r"input token count \({count}\) exceeds the maximum number of tokens allowed \({limit}\)",
        _GH + "google-gemini/gemini-cli/issues/4231",
        input_alone=True,
    ),
    Wording(
        "vertex",
        r"input token count exceeds the maximum number of tokens allowed(?: {limit})?",
        _GH + "warpdotdev/warp/issues/15662",
        input_alone=True,
    ),
    Wording(
        "vertex",
        r"input token count is {count} but (?:the )?model only supports up to {limit}",
        _GH + "google-gemini/gemini-cli/issues/19727",
        input_alone=True,
    ),
    # Amazon Bedrock
    Wording("bedrock", r"input is too long for requested model", _GH + "aws-samples/bedrock-chat/issues/95"),
    Wording("bedrock", r"number of input tokens exceeds maximum length", _VALS),
    Wording(
        "bedrock",
        r"malformed input request: expected maxlength: \d+, actual: \d+",
        _GH + "ryanadoty/Amazon-Bedrock-Amazon-RDS-POC/issues/9",
    ),
    # Others with an API of their own
    Wording(
        "xai",
        r"maximum prompt length is {limit} but the request contains {count} tokens",
        _GH + "cline/cline/issues/3120",
        input_alone=True,
    ),
    Wording(
        "cerebras",
        r"reduce the length of the messages or completion\. current length is {count} while limit is {limit}",
        _GH + "cline/cline/issues/5140",
    ),
    Wording("groq", r"please reduce the length of the messages or completion", _GH + "letta-ai/letta/issues/1963"),
    Wording(
        "mistral",
        r"prompt contains {count} tokens.{0,40}? too large for model with {limit} maximum context length",
        _VALS,
    ),
    Wording("mistral", r"prompt {count} > {limit} maximum context length", _VALS),
    Wording(
        "cohere",
        r"total number of tokens \(prompt and prediction\) cannot exceed {limit} - received {count}",
        _GH + "cohere-ai/sandbox-topically/issues/4",
    ),
    Wording(
        "cohere",
        r"too many tokens: size limit exceeded by \d+ tokens\..*?limit for this model is {limit} tokens",
        _VALS,
        input_alone=True,
    ),
    Wording(
        "together",
        r"`inputs` tokens \+ `max_new_tokens` must be <= {limit}\. given: {count} `inputs` tokens and {output}",
        _GH + "BerriAI/litellm/issues/4934",
    ),
    Wording(
        "fireworks",
        r"prompt is too long: {count}, model maximum context length: {limit}",
        _GH + "fw-ai/cookbook/issues/134",
    ),
    Wording(
        "moonshot",
        r"exceeded model token limit: {limit}(?: \(re ?quested: {count}\))?",
        _GH + "MoonshotAI/kimi-cli/issues/2011",
    ),
    Wording(
        "copilot",
        r"prompt token count of {count} exceeds the limit of {limit}",
        _GH + "opencode-ai/opencode/issues/305",
        input_alone=True,
    ),
    Wording("copilot", r"model_max_prompt_tokens_exceeded", _GH + "microsoft/vscode/issues/289219"),
    Wording("minimax", r"context window exceeds limit", _GH + "MiniMax-AI/MiniMax-M2/issues/119"),
    Wording(
        "qwen", r"range of input length should be \[1, {limit}\]", _GH + "QwenLM/qwen-code/issues/98", input_alone=True
    ),
    Wording("z.ai", r"prompt exceeds max length", _GH + "zeroclaw-labs/zeroclaw/issues/4124"),
    Wording("z.ai", r"tokens in request more than max tokens allowed", _GH + "NousResearch/hermes-agent/pull/61728"),
    Wording(
        "poolside", r"input length {count} exceeds the maximum allowed input length of {limit}", _VALS, input_alone=True
    ),
    Wording("ai21", r"the total length of all messages is too long", _VALS),
    Wording("xai-grpc", r"sent message larger than max \(\d+ vs\. \d+\)", _VALS, in_bytes=True),
    # Servers one runs oneself
    Wording(
        "llama.cpp",
        r"request \({count} tokens\) exceeds the available context size \({limit} tokens\)",
        _GH + "ggml-org/llama.cpp/issues/17284",
    ),
    Wording("llama.cpp", r"exceeds the available context size", _GH + "ggml-org/llama.cpp/pull/15780"),
    Wording(
        "llama-cpp-python",
        r"requested tokens \({count}\) exceed context window of {limit}",
        _GH + "fedora-copr/logdetective-website/pull/193",
    ),
    Wording(
        "lm-studio",
        r"greater than the context length(?: \(n_keep: {count} ?>= n_ctx: {limit}\))?",
        _GH + "Gitlawb/openclaude/issues/353",
    ),
    Wording(
        "lm-studio",
        r"keep the first {count} tokens when context the overflows\."
        r" however, the model is loaded with context length of only {limit} tokens",
        _GH + "cline/cline/issues/3664",
    ),
    Wording("ollama", r"prompt too long; exceeded (?:max )?context length", _PI),
    Wording("ollama", r"input length exceeds the context length", _PI),
    Wording(
        "sglang",
        r"input \({count} tokens\) is longer than the model's context length \({limit} tokens\)",
        _GH + "QwenLM/Qwen3/issues/1321",
    ),
    Wording(
        "sglang",
        r"input length \({count} tokens\) exceeds the maximum allowed length \({limit} tokens\)",
        _GH + "sgl-project/sglang/issues/4048",
        input_alone=True,
    ),
    Wording("mlx-serve", r"prompt exceeds maximum context length", _GH + "ddalcu/mlx-serve/issues/66"),
    Wording("gpt4all", r"prompt size exceeds the context window size", _GH + "nomic-ai/gpt4all/issues/664"),
    # A server's general wordings, after all that name numbers
    Wording(
        "vllm", r"at most {most} image\(s\) may be provided", _GH + "vllm-project/vllm/issues/17092", in_images=True
    ),
    Wording(
        "", r"images, exceeding the maximum of {most} allowed", _GH + "anomalyco/opencode/issues/47721", in_images=True
    ),
    Wording(
        "",
        r"too many images in request.{0,60}\bmax(?:imum)?\b[a-z ]{0,12}{most}",
        _GH + "microsoft/vscode/issues/306919",
        in_images=True,
    ),
    Wording(
        "google",
        r"payload size exceeds the limit: {most} bytes",
        _GH + "google-gemini/deprecated-generative-ai-android/issues/26",
        in_bytes=True,
    ),
    Wording("", r"prompt is too long", _GH + "NanmiCoder/cc-haha/issues/860"),
    Wording("", r"maximum context length is {limit} tokens", _GH + "ogx-ai/ogx/issues/4534"),
    Wording("", r"context_length_exceeded|exceed_context_size_error", _GH + "openai/openai-python"),
    Wording("", r"model_context_window_exceeded", _GH + "mozilla-ai/any-llm/issues/1200"),
    Wording("", r"request entity too large|payload too large|content too large", _VALS, in_bytes=True),
)

DENIALS: Final[tuple[tuple[str, str], ...]] = (
    (r"tokens? per (?:min|day|hour)|\(TPM\)|\bTPM\b", _GH + "DrShushen/climb/issues/13"),
    (r"rate[ _]limit|throttl|too many requests", _GH + "OpenHands/OpenHands/issues/9259"),
    (r"please wait before trying again", _GH + "RooCodeInc/Roo-Code/issues/5050"),
    (
        r"current quota|quota exceeded|insufficient_quota|RESOURCE_EXHAUSTED",
        _GH + "google-gemini/gemini-cli/issues/13112",
    ),
    (r"more credits|can only afford|monthly limit", _GH + "anomalyco/opencode/issues/12219"),
    (r"extra usage is required|long context beta", _GH + "Wei-Shaw/sub2api/issues/572"),
    (r"content management policy|content_filter", _GH + "stanford-crfm/helm/pull/3327"),
)
"""What says that an error is none of this, whatever else it says: rate limits, money, filters."""

_NEVER: Final = frozenset({401, 402, 403, 404, 408, 429, 529})
"""Statuses that say something else whatever the text."""

_NUMBER: Final = r"\d[\d,]*"


class _Row(NamedTuple):
    wording: Wording
    pattern: re.Pattern[str]


def _compiled(rows: Iterable[Wording]) -> tuple[_Row, ...]:
    fields = {name: f"(?P<{name}>{_NUMBER})" for name in ("limit", "count", "output", "total", "most")}
    made = []
    for row in rows:
        pattern = row.pattern
        for name, group in fields.items():
            pattern = pattern.replace("{" + name + "}", group)
        made.append(_Row(row, re.compile(pattern, re.IGNORECASE | re.DOTALL)))
    return tuple(made)


_ROWS: Final = _compiled(WORDINGS)
_DENIES: Final = re.compile("|".join(pattern for pattern, _ in DENIALS), re.IGNORECASE)
_LLAMA_CPP: Final = re.compile(r"n_prompt_tokens\D{1,4}(\d+)\D{1,8}n_ctx\D{1,4}(\d+)")


class Verdict(NamedTuple):
    """A recognised overflow: the row that fitted, and the numbers it named."""

    wording: Wording
    measures: Measures


def recognise(status: int | None, text: str) -> Verdict | None:
    """What an error's text says about its request's length; ``None`` when that is not what it is about.

    ``text`` is all the server said, without what it may have repeated of the request; ``status`` is ``None`` inside a
    stream. A 413 without a word is an overflow (Cerebras).
    """
    if status in _NEVER or _DENIES.search(text):
        return None
    for row in _ROWS:
        match = row.pattern.search(text)
        if match:
            return Verdict(row.wording, _measures(match, text, row.wording.most))
    if status == 413:
        return Verdict(Wording("", "", _PI, in_bytes=bool(text.strip())), Measures())
    return None


def overflowed(answer: Answer, window: int | None = None) -> Measures | None:
    """The numbers of an overflow that came without an error; ``None`` when the answer is none.

    Three are known. The model ended for ``length`` before its first token, for the window was full with the input alone
    (https://github.com/badlogic/pi-mono/blob/main/packages/ai/src/utils/overflow.ts: MiMo); the same said in so many
    words (GLM's and Anthropic's ``model_context_window_exceeded`` with no output); and an input larger than the
    ``window``, of which the server kept only a part (GLM).
    """
    if answer.outcome != "finished":
        return None
    sent = answer.usage.context
    empty = not answer.message.parts and not answer.usage.output
    if answer.stop in ("length", "context_full") and empty:
        return Measures(window, sent, None)
    if window is not None and sent is not None and sent > window:
        return Measures(window, sent, None)
    return None


def _measures(match: re.Match[str], text: str, most: int | None) -> Measures:
    found = {name: int(value.replace(",", "")) for name, value in match.groupdict().items() if value is not None}
    if not found and "n_ctx" in text:
        named = _LLAMA_CPP.search(text)
        return Measures() if named is None else Measures(int(named[2]), int(named[1]), None)
    count, output = found.get("count"), found.get("output")
    if count is None and "total" in found and output is not None:
        count = found["total"] - output
    return Measures(found.get("limit"), count, output, found.get("most", most))
