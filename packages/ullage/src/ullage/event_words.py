"""The text that short rows of events are compressed against: what events of every kind have in common.

A row says only where it differs, so it takes some 40 % of its JSON. Stored rows need these bytes to be read: they never
change. Other words would be a second constant; a compressed row holds the checksum of its own
(https://www.rfc-editor.org/rfc/rfc1950, FDICT). The most frequent words stand last, where zlib refers to them in the
fewest bits.
"""

from __future__ import annotations

from typing import Final

EVENT_WORDS: Final = b"".join(
    (
        b'{"type":"session_started","model":"gpt-5","wire":"responses","provider":"openai","cwd":"/home/',
        b'{"type":"model_changed","model":"gemini-3-pro","wire":"generate_content","provider":"google"}',
        b'{"type":"settings_changed","settings":{"max_output":null,"trigger":0.8',
        b'{"type":"limit_learnt","model":"","source":"provider","window":200000,"input_cap":null,"max_output":64000}',
        b'{"type":"compaction_committed","compaction":"compaction-","summary":{"id":"","role":"user","parts":[{"type":"text",',
        b'"origin":"summary"},"summarised":[""],"dropped":[{"id":""}],"replaced":[],"before":150000,"after":20000}',
        b'{"type":"approval_asked","call_id":"","digest":"{"type":"approval_given","call_id":"","approved":true,"by":"',
        b'{"type":"queue_left","message_id":"","how":"delivered"}{"type":"turn_paused","turn":"turn-","reason":"approval"',
        b'{"type":"turn_started","turn":"turn-1","tokens":0,"usd":0.0,"input":0,"output":0,"trace":"00-',
        b'{"type":"turn_ended","turn":"turn-1","reason":"finished","steps":',
        b'{"type":"queued","message":{"id":"","role":"user","parts":[{"type":"text","id":"","text":"","origin":"said"},',
        b'"kind":"follow_up","position":1}{"type":"reasoning","id":"","text":"The user wants me to ',
        b'"provider_data":[{"data":{"type":"thinking","signature":"","encrypted_content":"gAAAAAB"},"provider":"openai"',
        b'"usage":{"input":0,"output":0,"cache_read":0,"cache_write":0,"reasoning":0,"dialect":"openai","raw":{',
        b'"promptTokenCount":0,"candidatesTokenCount":0,"totalTokenCount":0,"thoughtsTokenCount":0,"promptTokensDetails":[',
        b'{"modality":"TEXT","tokenCount":0}],"prompt_tokens":0,"completion_tokens":0,"total_tokens":0,',
        b'"prompt_tokens_details":{"cached_tokens":0,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":0,',
        b'"accepted_prediction_tokens":0,"audio_tokens":0,"rejected_prediction_tokens":0}},"input_tokens":0,',
        b'"input_tokens_details":{"cached_tokens":0},"output_tokens":0,"output_tokens_details":{"reasoning_tokens":0},',
        b'"total_tokens":0}},"model":"gpt-4.1"}{"type":"call_ended","call":"call-","outcome":"failed","stop":"stop",',
        b'"error":"","error_kind":"","purpose":"summary","is_error":true,"outcome":"finished","handle":"","size_bytes":',
        b'{"type":"calibrated","model":"claude-sonnet-4-5","call":"call-10","estimated":1000,"actual":1000,"error":0.0,"ratio":1.0}',
        b'{"type":"reading_taken","snapshot":"","used":{"tokens":10000,"low":10000,"high":10000},"window":200000,',
        b'"compaction_point":160000,"input_limit":184000,"reserve":16000,"messages":10,"grown":100,"label":"reported","label":"',
        b'estimated: the last output was reported as 100, and is charged by its text when sent back, 100"}',
        b'{"type":"call_started","call":"call-10","fingerprint":{"wire":"messages","endpoint":"anthropic","model":"claude-opus-4-6",',
        b'"system":"","tools":"","digest":"","count":10},"estimate":{"tokens":10000,"low":10000,"high":10000},"snapshot":"",',
        b'"stream":true}{"type":"call_ended","call":"call-10","stop":"end_turn","stop":"tool_calls","usage":{"input":10000,"output":100,',
        b'"cache_read":10000,"cache_write":100,"reasoning":0,"dialect":"anthropic","raw":{"input_tokens":10000,',
        b'"cache_creation_input_tokens":100,"cache_read_input_tokens":10000,"cache_creation":{"ephemeral_5m_input_tokens":0,',
        b'"ephemeral_1h_input_tokens":0},"output_tokens":100,"service_tier":"standard","output_tokens_details":{',
        b'"thinking_tokens":0}}},"model":"claude-haiku-4-5"}',
        b'{"type":"tool_started","call_id":"toolu_01","name":"search","idempotent":true}',
        b'{"type":"tool_ended","call_id":"toolu_01","name":"read","arguments":"{\\"path\\": \\"src/main.py\\", ',
        b'\\"command\\": \\"',
        b'{"type":"message_added","message":{"id":"call-10.answer","role":"assistant","parts":[{"type":"text",',
        b'"id":"call-10.answer.1","text":"Let me look at the "},{"type":"tool_call","id":"call-10.answer.2",',
        b'"call_id":"toolu_01","name":"edit","arguments":"{\\"}"}],"call":"call-10"}}',
        b'{"type":"message_added","message":{"id":"call-10.answer.2.result.message","role":"tool","parts":[{"type":"tool_result",',
        b'"id":"call-10.answer.2.result","call_id":"call_","name":"read","content":[{"type":"text",',
        b'"id":"call-10.answer.2.result.text","text":"',
    )
)
"""4 KB of JSON as events have it."""
