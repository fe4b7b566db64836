"""A plug-in whose framework is not installed says what to install."""

import subprocess
import sys

import pytest

from ullage.installation import extra_command

HIDDEN = """
import sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {roots!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Hidden())
import ullage
try:
    import ullage.plugins.{plugin}
except ImportError as problem:
    assert isinstance(problem, ullage.errors.MissingExtra), repr(problem)
    print(problem)
"""
TOO_OLD = """
import sys, types
sys.modules["langchain"] = types.ModuleType("langchain")
sys.modules["langchain.agents"] = types.ModuleType("langchain.agents")
sys.modules["langchain.agents.middleware"] = types.ModuleType("langchain.agents.middleware")
try:
    import ullage.plugins.langchain
except ImportError as problem:
    print(problem)
"""
BROKEN = """
import sys
from ullage.plugins.missing_framework import importing
with importing("langchain", "langchain"):
    import langchainish
"""
FRAMEWORKS = {
    "google_adk": {"google"},
    "langchain": {"langchain", "langchain_core"},
    "litellm": {"litellm"},
    "openai_agents": {"agents"},
    "pydantic_ai": {"pydantic_ai", "pydantic", "opentelemetry"},
}


def run(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("plugin", FRAMEWORKS)
def test_without_its_framework_a_plugin_says_what_to_install(plugin: str) -> None:
    done = run(HIDDEN.format(roots=FRAMEWORKS[plugin], plugin=plugin))
    assert done.stdout.startswith(
        f"`ullage.plugins.{plugin}` needs more than is installed: No module named"
    ), done.stderr
    assert extra_command(plugin.replace("_", "-")) in done.stdout


def test_a_framework_that_is_too_old_is_said_so_too() -> None:
    done = run(TOO_OLD)
    assert "cannot import name 'AgentMiddleware'" in done.stdout, done.stderr
    assert extra_command("langchain") in done.stdout


def test_what_a_framework_itself_lacks_is_its_own_error() -> None:
    done = run(BROKEN)
    assert "ModuleNotFoundError: No module named 'langchainish'" in done.stderr
    assert "ullage[" not in done.stderr


def test_attach_needs_no_sdk() -> None:
    every = {"anthropic", "httpx", "openai"}.union(*FRAMEWORKS.values())
    hidden = HIDDEN.format(roots=every, plugin="attach")
    done = run(f"{hidden}\nprint(ullage.attach.__name__)")
    assert done.stdout == "attach\n", done.stderr
