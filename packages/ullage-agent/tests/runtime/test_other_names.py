"""What a newcomer types first, by the names of other libraries: answered with ours, and never with a wrong guess."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import pytest

import ullage
from tests.agents import KEY
from ullage.errors import SettingError, WrongType
from ullage.testing import ScriptedModel
from ullage_agent.runtime.settings import KEYS
from ullage_agent.tools.other_names import (
    METHODS,
    RESULTS,
    SETTINGS,
    TOOL_OPTIONS,
    explained,
)

MODEL = "openai:gpt-5"

AGENTS = {
    "pydantic-ai 2.68.0, Agent": """
        model output_type instructions system_prompt deps_type name description model_settings retries
        validation_context tools toolsets defer_model_check end_strategy metadata tool_timeout max_concurrency
        capabilities""",
    "pydantic-ai 2.68.0, Agent.run": """
        user_prompt output_type conversation message_history deferred_tool_results conversation_id run_id model
        instructions deps model_settings usage_limits cancellation_token timeout usage metadata retries infer_name
        toolsets event_stream_handler capabilities workspace spec""",
    "openai-agents 0.24.0, Agent": """
        name handoff_description tools mcp_servers mcp_config instructions prompt handoffs model model_settings
        input_guardrails output_guardrails output_type hooks tool_use_behavior reset_tool_choice""",
    "openai-agents 0.24.0, Runner.run": """
        starting_agent input context max_turns hooks run_config error_handlers previous_response_id
        auto_previous_response_id conversation_id session""",
    "openai-agents 0.24.0, ModelSettings": """
        temperature top_p frequency_penalty presence_penalty tool_choice parallel_tool_calls truncation max_tokens
        reasoning verbosity metadata store prompt_cache_retention include_usage response_include top_logprobs
        extra_query extra_body extra_headers extra_args retry context_management prompt_cache_options
        preserve_raw_usage timeout""",
    "langchain 1.5.2, create_agent": """
        model tools system_prompt middleware response_format state_schema context_schema checkpointer store
        interrupt_before interrupt_after debug name cache transformers""",
    "claude-agent-sdk 0.2.189, ClaudeAgentOptions": """
        tools allowed_tools system_prompt mcp_servers strict_mcp_config permission_mode continue_conversation resume
        session_id max_turns max_budget_usd disallowed_tools model fallback_model betas permission_prompt_tool_name cwd
        cli_path settings add_dirs env extra_args max_buffer_size debug_stderr stderr can_use_tool hooks user
        include_partial_messages include_hook_events forward_subagent_text verbatim_prompts fork_session
        resume_session_at resume_drops_turn agents setting_sources skills sandbox plugins max_thinking_tokens thinking
        effort output_format enable_file_checkpointing session_store session_store_flush load_timeout_ms task_budget
        client_app prompt options transport""",
    "ai 7.0.173, ToolLoopAgent": """
        activeTools allowSystemInMessages experimental_download experimental_refineToolInput
        experimental_repairToolCall experimental_telemetry experimental_toolApprovalSecret experimental_toolCallers
        frequencyPenalty headers include instructions maxOutputTokens maxRetries model prepareStep presencePenalty
        providerOptions reasoning repairToolCall runtimeContext seed stopSequences stopWhen telemetry temperature
        toolApproval toolCallConcurrency toolChoice toolOrder tools topK topP abortSignal timeout""",
    "agno 3.1.10, Agent": """
        model fallback_config fallback_models name id user_id session_id session_state add_session_state_to_context
        overwrite_db_session_state enable_agentic_state cache_session search_past_sessions num_past_sessions_to_search
        num_past_session_runs_in_search dependencies add_dependencies_to_context db filesystem checkpoint
        memory_manager enable_agentic_memory update_memory_on_run add_memories_to_context enable_session_summaries
        add_session_summary_to_context session_summary_manager compaction compress_tool_results compression_manager
        offload_tool_results add_history_to_context num_history_runs num_history_messages max_tool_calls_from_history
        store_media media_storage store_tool_messages store_history_messages knowledge knowledge_filters
        enable_agentic_knowledge_filters add_knowledge_to_context knowledge_retriever references_format skills metadata
        tools tool_call_limit tool_choice tool_hooks pre_hooks post_hooks reasoning_model reasoning_agent
        read_chat_history search_knowledge add_search_knowledge_instructions update_knowledge read_tool_call_history
        send_media_to_model system_message system_message_role introduction build_context description instructions
        use_instruction_tags expected_output additional_context markdown add_name_to_context add_datetime_to_context
        add_location_to_context datetime_format timezone_identifier resolve_in_context learning
        add_learnings_to_context additional_input user_message_role build_user_context retries delay_between_retries
        exponential_backoff parser_model parser_model_prompt input_schema output_schema parse_response output_model
        output_model_prompt structured_outputs use_json_mode save_response_to_file followups num_followups
        followup_model stream stream_events store_events events_to_skip role debug_mode debug_level telemetry
        cache_callables callable_tools_cache_key callable_knowledge_cache_key sandbox input run_context run_id audio
        images videos files yield_run_output""",
    "strands-agents 1.62.0, Agent": """
        model messages tools system_prompt structured_output_model callback_handler conversation_manager
        record_direct_tool_call load_tools_from_directory trace_attributes baggage_attributes aux_model agent_id name
        description state context_manager plugins hooks interventions session_manager memory_manager
        structured_output_prompt tool_executor retry_strategy concurrent_invocation_mode checkpointing sandbox storage
        background_tasks prompt invocation_state idempotency_token limits cancel_signal""",
    "smolagents 1.26.0, CodeAgent": """
        tools model prompt_templates instructions max_steps add_base_tools verbosity_level managed_agents
        step_callbacks planning_interval name description provide_run_summary final_answer_checks return_full_result
        logger stream_outputs max_tool_threads additional_authorized_imports executor executor_type executor_kwargs
        max_print_outputs_length use_structured_outputs_internally code_block_tags task stream reset images
        additional_args""",
    "google-adk 2.13.0, LlmAgent": """
        name description parent_agent sub_agents before_agent_callback after_agent_callback model instruction
        global_instruction static_instruction tools generate_content_config mode parallel_worker
        disallow_transfer_to_parent disallow_transfer_to_peers include_contents input_schema output_schema output_key
        planner code_executor before_model_callback after_model_callback on_model_error_callback before_tool_callback
        after_tool_callback on_tool_error_callback""",
    "crewai 1.15.30, Agent": """
        max_execution_time step_callback use_system_prompt llm function_calling_llm system_template prompt_template
        response_template allow_code_execution respect_context_window use_better_compaction max_retry_limit multimodal
        inject_date date_format code_execution_mode planning_config planning reasoning max_reasoning_attempts embedder
        agent_knowledge_context crew_knowledge_context knowledge_search_query from_repository guardrail
        guardrail_max_retries a2a agent_executor executor_class entity_type id role goal backstory config cache verbose
        max_rpm allow_delegation tools max_iter tool_failure_policy i18n crew cache_handler tools_handler tools_results
        max_tokens knowledge knowledge_sources knowledge_storage security_config checkpoint callbacks adapted_agent
        knowledge_config apps mcps memory skills execution_context checkpoint_kickoff_event_id""",
    "autogen-agentchat 0.7.5, AssistantAgent": """
        name model_client tools workbench handoffs model_context description system_message model_client_stream
        reflect_on_tool_use max_tool_iterations tool_call_summary_format tool_call_summary_formatter
        output_content_type output_content_type_format memory metadata""",
    "agent-framework 1.23.0, Agent": """
        client instructions id name description tools default_options context_providers middleware
        require_per_service_call_history_persistence compaction_strategy tokenizer additional_properties""",
    "llama-index-core 0.14.25, FunctionAgent": """
        name description system_prompt tools tool_retriever can_handoff_to llm initial_state state_prompt output_cls
        structured_output_fn streaming early_stopping_method""",
    "what else people type": """
        max_output_tokens max_iterations max_retries api_key result_type thread_id handoff guardrails verbose
        max_completion_tokens context_window callbacks history chat_history""",
}
"""The keyword arguments of other libraries' agents, read out of the signatures of these releases."""

TOOLS = {
    "pydantic-ai 2.68.0, Tool": """
        function takes_ctx max_retries name description prepare args_validator docstring_format
        require_parameter_descriptions schema_generator strict sequential requires_approval metadata tool_kind timeout
        defer_loading include_return_schema""",
    "openai-agents 0.24.0, function_tool": """
        func name_override description_override docstring_style use_docstring_info failure_error_function strict_mode
        is_enabled needs_approval tool_input_guardrails tool_output_guardrails timeout timeout_behavior
        timeout_error_function defer_loading custom_data_extractor allowed_callers output_type output_json_schema""",
}

OURS = {*KEYS, *inspect.signature(ullage.Agent).parameters} - {"settings"}
NO_GUESS = re.compile(
    r"is no argument or setting here\. docs/settings\.md|is no setting: keys come"
)


def agent(**given: Any) -> ullage.Agent[Any, Any]:
    return ullage.Agent(MODEL, config=False, environment=KEY, **given)


@pytest.mark.parametrize("library", AGENTS)
def test_each_keyword_of_another_library_is_ours_or_explained_and_never_guessed(
    library: str,
) -> None:
    for name in AGENTS[library].split():
        if name in OURS:
            continue
        with pytest.raises(SettingError) as refused:
            agent(**{name: None if name == "x" else 3})
        said = str(refused.value)
        assert "Did you mean" not in said, said
        assert " here" in said or NO_GUESS.search(said), said


def test_those_of_tools_are_too() -> None:
    ours = {"name", "description", "sequential", "needs_approval"}
    for name in " ".join(TOOLS.values()).split():
        if name in ours:
            continue
        with pytest.raises(WrongType, match=" here") as refused:
            ullage.tool(**{name: 3})  # type: ignore[call-overload]
        assert "Did you mean" not in str(refused.value)
    with pytest.raises(WrongType, match=r"It takes name, description, .*read_only\."):
        ullage.tool(fast=True)  # type: ignore[call-overload]


def test_what_is_answered_is_none_of_ours_and_names_what_there_is() -> None:
    assert SETTINGS.keys() & OURS == {
        "instructions"
    }  # for places that have settings alone
    named = {
        name
        for said in SETTINGS.values()
        for name in re.findall(r"`(\w+)(?:`|=)", said)
        if name not in ("ask", "session", "deps", "ullage", "Path")
    }
    assert named <= OURS, named - OURS
    assert not [name for name in METHODS if hasattr(agent(), name)]


@pytest.mark.parametrize(
    ("given", "answer"),
    [
        ({"max_tokens": 100}, "'max_tokens' is `max_output` here"),
        ({"maxOutputTokens": 100}, "'maxOutputTokens' is `max_output` here"),
        ({"max_turns": 3}, "'max_turns' is `max_steps` here"),
        ({"api_key": "sk-1"}, "keys come from the environment alone"),
        ({"memory": True}, "the messages of a conversation are stored"),
        ({"system_prompt": "x"}, "'system_prompt' is `instructions` here"),
        ({"max_step": 3}, r"Did you mean 'max_steps'\?"),
        ({"output_typ": int}, r"Did you mean 'output_type'\?"),
    ],
)
def test_an_agent_says_what_a_name_is_here(given: dict[str, Any], answer: str) -> None:
    with pytest.raises(SettingError, match=answer):
        agent(**given)
    with pytest.raises(SettingError, match="'max_tokens' is `max_output` here"):
        agent().session("s", max_tokens=3)  # type: ignore[call-arg]
    with pytest.raises(SettingError, match="a session has `instruction_files` and"):
        agent().session("s", instructions="Be brief.")  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("given", "answer"),
    [
        ({"prompt": "Hi."}, "'prompt' is the first argument here, and has no name"),
        ({"session_id": "x"}, "`session='ID'` continues it"),
        ({"stream": True}, r"`agent.stream\(…\)` gives the text"),
        ({"max_turns": 3}, r"Give settings to Agent\(…\)"),
        ({"model": MODEL}, r"'model' is a setting\. .* Give settings to Agent\(…\)"),
        ({"sesion": "x"}, r"Did you mean 'session'\?"),
    ],
)
async def test_a_call_says_it_too_and_sends_nothing(given: dict[str, Any], answer: str) -> None:  # fmt: skip
    with pytest.raises(WrongType, match=answer):
        agent().run_sync("Hi.", **given)
    with pytest.raises(TypeError, match=answer):
        await agent().ask("Hi.", **given)
    with pytest.raises(WrongType, match=answer):
        agent().stream("Hi.", **given)


async def test_a_session_says_it_too(tmp_path: Path) -> None:
    session: Any = agent(store=tmp_path / "s.db").session("s")
    with pytest.raises(WrongType, match=r"session\.ask: 'stream' is no argument here"):
        await session.ask("Hi.", stream=True)
    with pytest.raises(WrongType, match=r"session\.stream: 'max_turns' is `max_steps`"):
        session.stream("Hi.", max_turns=3)
    waiting: Any = agent(store=tmp_path / "s.db").session_sync("s")
    with pytest.raises(WrongType, match=r"session\.ask: 'model' is a setting"):
        waiting.ask("Hi.", model=MODEL)
    with pytest.raises(WrongType, match=r"It takes output_type\. Give"):
        waiting.stream("Hi.", fast=True)


def test_methods_of_other_libraries_are_answered() -> None:
    made: Any = agent()
    for name in ("run", "invoke", "chat", "kickoff", "run_stream", "tool", "model"):
        with pytest.raises(AttributeError, match=f"An Agent has no '{name}': "):
            getattr(made, name)
    with pytest.raises(AttributeError, match=r"An Agent has no 'fly'\."):
        made.fly()
    assert not callable(made)


def test_an_agent_shows_what_it_is() -> None:
    def look() -> str:
        """Look."""
        return ""

    made = agent(tools=[look, "read"], name="scout", store=None)
    shown = "'openai:gpt-5', name='scout', tools=['read', 'look'], store='nowhere'"
    assert repr(made) == f"Agent({shown})"


@pytest.mark.parametrize(
    ("model", "answer"),
    [
        ("gpt5", "Did you mean openai:gpt-5"),
        ("openai/gpt-5", "Did you mean openai:gpt-5"),
        ("llama3", "or give its address with base_url"),
    ],
)
def test_a_model_that_nobody_has_is_refused_at_once(model: str, answer: str) -> None:
    with pytest.raises(SettingError, match=answer):
        ullage.Agent(model, config=False, environment={})
    assert ullage.Agent(model, config=False, base_url="http://localhost:1")


def test_what_no_agent_can_have_is_refused_at_once() -> None:
    with pytest.raises(
        SettingError, match=r"no built-in tool 'raed'\. Did you mean 'read'"
    ):
        agent(tools=["raed"])
    with pytest.raises(WrongType, match=r"write hooks=\[…\]"):
        agent(hooks=ullage.Hook())
    with pytest.raises(WrongType, match=r"made from ullage\.Hook, and not function"):
        agent(hooks=[lambda: None])
    with pytest.raises(WrongType, match=r"is no tool\. .*ullage\.subagent"):
        agent(tools=[{"type": "function"}])
    for wrong in ("Invoice", {"type": "object"}):
        with pytest.raises(WrongType, match=r"takes a type, as output_type=Invoice"):
            agent(output_type=wrong)


def test_a_word_that_is_ours_is_never_explained_away() -> None:
    assert explained("max-steps", KEYS).endswith("Did you mean 'max_steps'?")
    assert not TOOL_OPTIONS.keys() & {"name", "description", "retries", "timeout_s"}


def test_names_of_other_libraries_are_answered_with_ours() -> None:
    sessions: Any = object()
    with pytest.raises(ImportError, match=r"RunContext is ullage\.ToolContext here"):
        from ullage import RunContext  # type: ignore[attr-defined]  # noqa: F401
    with pytest.raises(WrongType, match="session is a str, and not object"):
        agent().run_sync("Hi", session=sessions)
    with pytest.raises(ImportError, match="SQLiteSession is ullage"):
        ullage.SQLiteSession  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(AttributeError, match="Did you mean 'Agent'"):
        ullage.Agnt  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("final_output", "result.output"),
        ("all_messages", "result.messages"),
        ("nothing", "'nothing'."),
    ],
)
def test_a_result_says_what_another_library_calls_otherwise(name: str, ours: str) -> None:
    greeting = agent()
    with greeting.override(model=ScriptedModel(["Hello."]), store=None):
        result = greeting.run_sync("Hi")
    with pytest.raises(AttributeError, match=ours):
        getattr(result, name)
    assert not RESULTS.keys() & set(dir(result))
