"""What an argument, a method or a setting of another library is called here.

A newcomer types the names that he knows: ``max_tokens``, ``system_prompt``, ``agent.invoke(…)``. They are answered with
ours, and never with the name that happens to be spelled like them. The tests hold the names of the newest releases.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from ullage.display.text import quoted
from ullage.similar import TYPO, did_you_mean

_SETTINGS: Final = {
    "is `model='PROVIDER:NAME'` here": "llm model_client client model_name model_id chat_client",
    "is `fallback=['PROVIDER:NAME']` here": "fallback_model fallback_models fallback_config fallbacks",
    "is `instructions` here (or `system`, where a session or a file may replace it)": (
        "system_prompt system_message system_template instruction global_instruction static_instruction goal backstory "
        "prompt_templates additional_context introduction developer_message preamble"
    ),
    "is an argument of Agent alone: a file, a variable or a session has `instruction_files` and `system`": (
        "instructions"
    ),
    "is no argument here: the system prompt is `instructions`, and a message the first argument of `ask`": (
        "prompt user_prompt input inputs task query message question content user_input text"
    ),
    "is no argument here: the messages of a conversation are stored, and `session='ID'` continues it": (
        "session message_history messages history chat_history memory memory_manager conversation "
        "conversation_id session_id "
        "thread_id run_id previous_response_id auto_previous_response_id continue_conversation resume_session_at "
        "add_history_to_context num_history_runs num_history_messages read_chat_history"
    ),
    "is given with each message or session here: `ask(…, deps=…)`, `agent.session(…, deps=…)`": (
        "deps context context_variables dependencies state initial_state session_state runtime_context "
        "invocation_state additional_args user user_id experimental_context"
    ),
    "is `deps_type` here": "context_schema context_type state_schema",
    "is `output_type` here": (
        "result_type response_format response_model response_schema output_schema output_format output output_cls "
        "structured_output structured_outputs structured_output_model output_content_type output_model parse_response "
        "output_json_schema"
    ),
    "is `output_by='tool'` here": "use_json_mode",
    "is no argument here: keywords of their own are `temperature`, `max_output` and `effort`, and `params={…}` has the "
    "other fields of a request": (
        "model_settings model_kwargs generate_content_config generation_config default_options provider_options "
        "llm_config model_params"
    ),
    "is a field of `params={…}` here": (
        "top_p top_k frequency_penalty presence_penalty stop stop_sequences seed tool_choice parallel_tool_calls "
        "truncation verbosity top_logprobs extra_body extra_args metadata logit_bias betas prompt_cache_retention "
        "prompt_cache_options service_tier"
    ),
    "is `max_output` here": "max_tokens max_output_tokens max_completion_tokens max_new_tokens num_predict",
    "is `effort` here": (
        "reasoning_effort thinking thinking_budget max_thinking_tokens budget_tokens thinking_config"
    ),
    "is `window` here": "context_window max_context_tokens context_length num_ctx max_input_tokens",
    "is `max_steps` here (calls of the model in a turn)": (
        "max_turns max_iterations max_iter max_tool_iterations max_rounds max_loops recursion_limit stop_when "
        "step_limit"
    ),
    "is `budget={'usd': …, 'tokens': …, 'calls': …, 'tool_calls': …, 'seconds': …}` here": (
        "usage_limits limits max_budget_usd max_budget max_cost task_budget tool_call_limit max_execution_time "
        "token_limit max_tool_calls"
    ),
    "is `rates={'requests': …}` a minute here": "max_rpm rpm rate_limit rate_limiter",
    "is `tries` here for requests, `output_retries` for answers, and `tool(retries=…)` for a tool": (
        "retries retry max_retries max_retry_limit max_attempts num_retries retry_strategy delay_between_retries "
        "exponential_backoff"
    ),
    "is `timeout` here, in seconds": (
        "tool_timeout request_timeout timeout_s timeout_seconds load_timeout_ms"
    ),
    "is `input_guardrails=[…]` or `output_guardrails=[…]` here (docs/hooks.md)": (
        "guardrail guardrails output_validator output_validators final_answer_checks"
    ),
    "is `hooks=[…]` here (docs/hooks.md)": (
        "middleware callbacks callback callback_handler step_callback step_callbacks plugins pre_hooks "
        "post_hooks tool_hooks before_model_callback "
        "after_model_callback before_tool_callback after_tool_callback before_agent_callback after_agent_callback "
        "on_model_error_callback on_tool_error_callback event_handler prepare_step on_step_finish on_finish "
        "interventions"
    ),
    "is `tools=[…]` here, of functions, MCP servers and names of built-in tools": (
        "toolsets tool functions function_tools allowed_tools disallowed_tools active_tools add_base_tools skills "
        "capabilities tool_list"
    ),
    "is `tools=[ullage.McpServer(…)]` here": "mcp_servers mcp_server mcps mcp_config workbench",
    "is `defer_tools` here": "tool_retriever defer_loading",
    "is `sequential_tools` here": "tool_executor tool_call_concurrency max_tool_threads",
    "is `approve=['TOOL']` here": (
        "permission_mode can_use_tool permission_prompt_tool_name interrupt_before interrupt_after interrupt_on "
        "human_in_the_loop tool_approval requires_approval needs_approval human_input auto_approve"
    ),
    "is `handoffs=[…]` here, or a tool made by `ullage.subagent`": (
        "handoff agents sub_agents subagents managed_agents can_handoff_to allow_delegation team members "
        "parent_agent"
    ),
    "is `description` here": "handoff_description",
    "is `name` here": "id agent_id agent_name",
    "is `store` here": (
        "db database storage checkpointer session_store session_manager session_service conversation_store filesystem"
    ),
    "is `strategy` here (docs/compaction.md)": (
        "compaction compaction_strategy conversation_manager context_manager model_context context_management "
        "compress_tool_results compression_manager"
    ),
    "is `auto` here (whether the agent compacts by itself)": (
        "respect_context_window enable_session_summaries"
    ),
    "is `estimator` here": "tokenizer token_counter",
    "is a function in `instructions` here": "context_providers prepare_call add_datetime_to_context inject_date",
    "is `stream` here": "streaming stream_outputs model_client_stream include_partial_messages",
    "is no argument here: `agent.stream(…)` gives the text, `session.events()` everything": (
        "stream_events event_stream_handler transport yield_run_output"
    ),
    "is `root` here": "cwd workspace working_directory work_dir workdir",
    "is `sandbox_read` and `sandbox_write` here": "add_dirs",
    "is `environment` here": "env",
    "is `config` here": "settings setting_sources",
    "is no argument here: a message is made of text, bytes and `Path`s, as in `ask('What is it?', Path('a.png'))`": (
        "images audio videos files attachments image"
    ),
    "is `hooks=[ullage.Telemetry()]` here": (
        "telemetry experimental_telemetry instrument trace_attributes tracing"
    ),
    "is no argument here: cancel the task, or call `session.cancel()`": (
        "cancellation_token cancel_signal abort_signal"
    ),
    "is no argument here: `result.reading` has what was used": "usage",
    "is no argument here: the logger `ullage` says what happens": (
        "verbose debug debug_mode debug_level verbosity_level logger"
    ),
    "is no argument or setting here: docs/settings.md lists all": "mode end_strategy output_key",
}
"""Arguments, in ``snake_case``, by what is said of them."""

_CALLS: Final = {
    "is the first argument here, and has no name": (
        "prompt user_prompt input inputs task query message question content user_input text"
    ),
    "is no argument here: `agent.stream(…)` gives the text while it is written": "stream",
    "is no argument here: another agent answers with other instructions": (
        "instructions system system_prompt"
    ),
}
"""Arguments of a call that gives a message, where they have another meaning than in an agent."""

_TOOL_OPTIONS: Final = {
    "is the function itself here, as in `ullage.tool(function)`": "func function fn",
    "is `name` here": "name_override tool_name",
    "is `description` here": "description_override tool_description",
    "is `needs_approval` here": (
        "requires_approval require_approval approval_mode confirm requires_confirmation approve"
    ),
    "is `timeout_s` here": "timeout timeout_seconds",
    "is `retries` here": "max_retries retry",
    "is no argument here: annotate a parameter as `ullage.ToolContext`": "takes_ctx pass_context context",
    "is no argument here: the types of the parameters give the schema": (
        "strict strict_mode parameters args_schema input_schema inputs schema"
    ),
    "is `defer_tools` of the Agent here": "defer_loading",
}

_METHODS: Final = {
    "write `await agent.ask(…)`, or `agent.run_sync(…)` in a program without an event loop": (
        "run arun ainvoke invoke invoke_async chat achat kickoff kickoff_async query prompt print_response call "
        "complete generate generate_text send"
    ),
    "write `agent.run_sync(…)`": "ask_sync run_once invoke_sync",
    "write `agent.stream(…)`": "run_stream run_streamed astream stream_async stream_text iter stream_events",
    "give functions to `Agent(tools=[…])`, or mark them with `@ullage.tool`": (
        "tool tool_plain add_tool register_tool toolset"
    ),
    "it is in `agent.settings`": "model system max_steps temperature root window approve",
    "give it to `Agent(instructions=…)`, as a text or a function": "system_prompt instructions",
    "give them to `Agent(tools=[…])`": "tools",
    "each session has its own: `await session.history()`": "messages history memory",
    "use `async with agent.session(…) as session`": "new_session create_session start_session open",
    "write `ullage.subagent(agent, …)`": "to_tool",
}

_RESULTS: Final = {
    "the answer is `result.output`, its text `result.text`": (
        "data final_output final_output_as content value response answer get_output"
    ),
    "the turn's messages are `result.messages`, and `session='ID'` of the next call continues them": (
        "all_messages new_messages new_items to_input_list last_response_id last_agent message_history"
    ),
}


def _by_name(table: Mapping[str, str]) -> dict[str, str]:
    return {name: said for said, names in table.items() for name in names.split()}


SETTINGS: Final = _by_name(_SETTINGS)
CALLS: Final = SETTINGS | _by_name(_CALLS)
TOOL_OPTIONS: Final = _by_name(_TOOL_OPTIONS)
METHODS: Final = _by_name(_METHODS)
RESULTS: Final = _by_name(_RESULTS)

_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def explained(
    name: str,
    known: Iterable[str],
    others: Mapping[str, str] = SETTINGS,
    *,
    listed: str = "docs/settings.md lists all.",
) -> str:
    """One sentence about an argument that there is not: its name here, or the known one that was mistyped.

    Args:
        name: As it was typed, in any case and with ``-`` or ``_``.
        known: The names that there are.
        others: What is said of names of other libraries.
        listed: Says which names there are.
    """
    typed = _HUMP.sub("_", name).lower().replace("-", "_").removeprefix("experimental_")
    if said := others.get(typed):
        return f"{quoted(name)} {said}."
    meant = did_you_mean(typed, known, cutoff=TYPO)
    return f"{quoted(name)} is no argument or setting here.{meant or f' {listed}'}"


def lacks(
    thing: object, what: str, name: str, others: Mapping[str, str]
) -> AttributeError:
    """The error for an attribute that there is not, with what it is called here."""
    answer = others.get(name, "")
    return AttributeError(
        f"{what} has no {name!r}{answer and ': '}{answer}.", name=name, obj=thing
    )
