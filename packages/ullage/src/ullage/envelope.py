"""Every limit on what comes in from outside, in one place: bytes, counts, depth and time.

A sender (a provider, a tool, a file, an HTTP client) may be hostile or broken. A limit is far above what
an honest sender needs, and low enough that reaching it neither blocks the event loop for a noticeable time nor exhausts
memory. Code that reads from outside imports its limit from here; nothing else is defined in this module.
"""

from __future__ import annotations

from typing import Final

KIB: Final = 1024
MIB: Final = 1024 * KIB

# --- Answers of a provider: the four wires -------------------------------------------------------------------------

EVENT_BYTES: Final = 32 * MIB
"""One server-sent event, and one line of it. A generated 4K image comes as one event of up to 27 MB of base64."""

BODY_BYTES: Final = 32 * MIB
"""An answer that is not streamed."""

DENSE_ABOVE_BYTES: Final = 1 * MIB
"""Above this size the marks in an event or a body are counted before anything else is done with it."""

DENSE_MARKS: Final = 1_000_000
"""Quotes, commas, backslashes and opening brackets in an event or a body above that size. Parsed values take up to 25
times their bytes, so 32 MiB of ``[[],[],…`` would take 800 MB; the base64 of an image holds no marks."""

SLOW_JSON_BYTES: Final = 1 * MIB
"""The largest event that is read again by Python's own JSON reader (which accepts NaN and lone surrogates): that
reader takes some 15 ms for a MiB, during which nothing else runs."""

JSON_DEPTH: Final = 100
"""Levels of nesting of any foreign JSON or TOML. Real request bodies and schemas stay below 30; Python's own stack,
which recursive readers use at two or three frames a level, ends near 1,000 frames."""

BYTES_PER_TOKEN: Final = 32
"""How many characters one token of output is granted. Prose has 4 to 5, indented code up to 16."""

ANSWER_FLOOR_CHARS: Final = 1 * MIB
ANSWER_CEILING_CHARS: Final = 4 * MIB
"""Text, reasoning and arguments of one answer together, derived from the output limit between these bounds. The
largest output limit on the market is 128,000 tokens, which the ceiling grants 32 characters each."""

ARGUMENT_CHARS: Final = 2 * MIB
"""The arguments of one tool call: a whole file that the model writes."""

ITEM_BYTES: Final = 48 * MIB
"""What one answer holds beside text: images, signatures, encrypted reasoning, fields without a word of their own."""

ANSWER_PARTS: Final = 2_000
"""Parts of one answer. An answer with 128 parallel tool calls and reasoning between them has some 300."""

TOOL_NAME_CHARS: Final = 256
"""A tool's name and a call's id in an answer. Providers accept names of 64 to 128 characters."""

CALL_ID_CHARS: Final = 1 * KIB
"""A call's id. Gemini behind gateways packs a signature into it, which is why it is longer than a name."""

WORD_CHARS: Final = 256
"""A model's name and a reason to stop, as an answer says them; what is longer is cut."""

USAGE_REPORTS: Final = 200
"""Usage objects of one stream that are kept; from then on the newest takes the place of the last. Honest streams send
one, two, or one with every chunk that says all of the one before."""

MOST_TOKENS: Final = 10**9
"""More tokens than any request, answer or part can hold: a larger number is an error of the program that wrote it."""

STREAM_BYTES: Final = 256 * MIB
"""One stream with everything in it: a Responses stream repeats its text five times, each delta has its frame."""

STREAM_EVENTS: Final = 300_000
"""Events of one stream: one for each of 128,000 tokens of output, twice."""

EMPTY_EVENTS: Final = 200_000
"""Events and comment lines in a row that add nothing to the answer: pings, keep-alive comments, empty deltas. Servers
that hide reasoning send one for each of its tokens."""

ERROR_BODY_BYTES: Final = 200 * KIB
"""The body of an error response that is read; the rest is left unread."""

ERROR_WORDS_CHARS: Final = 20_000
"""Text of an error body that is searched for what it means."""

PROBLEM_S: Final = 10.0
"""Seconds the body of an error response is waited for; its status is known by then."""

DRAIN_BYTES: Final = 64 * KIB
"""What is read behind the end of an answer, so that its connection can be used again."""

LIST_BYTES: Final = 8 * MIB
"""A list of models, or what a server says of one. OpenRouter's list of 400 models has 1.5 MB."""

KEPT_CHARS: Final = 64 * KIB
"""What is kept of an answer that exceeded a limit: the session stays usable with any context window."""

CALL_S: Final = 3_600.0
"""Seconds one attempt of a call may take from its first byte to its last, unless the setting ``timeout`` says
otherwise. The longest documented answers (reasoning models at their largest output) take about half of it."""

LOADING_S: Final = 600.0
"""Seconds a local server that says it is loading its model is waited for. A 70B
model from a hard disk takes some five minutes."""

RATE_WAIT_S: Final = 3_600.0
"""Seconds a call waits for its place within a rate limit at most."""

# --- JSON, wherever it comes from ----------------------------------------------------------------------------------

JSON_VALUES: Final = 250_000
"""Values in one JSON text. Each takes up to 230 bytes of memory (the key and the value of an object, two strings), so
that these take up to 60 MB, however short the text is."""

VALUE_BYTES: Final = 64
"""A file that is one JSON value, such as a whole conversation, may hold one more value for so many of its bytes: its
memory then stays below five times its size. Messages of a few words have some 20 bytes a value; a long one has more."""

CAREFUL_BYTES: Final = 16 * MIB
"""The longest JSON text of a file that is read again by Python's own reader, as ``SLOW_JSON_BYTES``: no other thread
runs for a quarter of a second then."""

CATALOGUE_BYTES: Final = 4 * MIB
CATALOGUE_MODELS: Final = 20_000
"""A refreshed catalogue of models. The built-in one has 120 KB and 1,129 models."""

# --- Session logs and other files ----------------------------------------------------------------------------------

LOG_LINE_BYTES: Final = 64 * MIB
"""One line of a log. The longest real lines hold a few images and stay below 40 MB."""

LOG_BYTES: Final = 1024 * MIB
"""A log of lines, whose messages are held in memory. The largest real ones have a few hundred MB."""

LOG_LINES: Final = 24_000
LINE_BYTES: Final = 768
MOST_LOG_LINES: Final = 120_000
"""Lines of a log, and events that are made of them: the first number, and one more for so many of its bytes; lines up
to the last number. Each takes some 0.15 ms and 3 kB of memory, however short it is; the longest real logs have some
50,000 lines, of 0.8 to 5 kB, and up to 0.8 events for each kB."""

LOG_STEPS: Final = 2_000_000
"""Messages that a log's compactions, rewinds, returns to branches it had left, and changes of a long system prompt go
through altogether, and tools that it declares again: each costs some 0.02 ms. A hundred compactions of a thousand
messages each are 100,000."""

COPY_STEPS: Final = 10
"""Steps that count for a message that comes into view again, or a block of a system prompt that is counted again."""

STEP_CHARS: Final = 100
"""Characters of a text for each step that it takes to put it back after a compaction: it is written and counted."""

DOCUMENT_BYTES: Final = 64 * MIB
"""A file that is one JSON value, which is held in memory as a whole: as much as one line of a log."""

SESSION_FILE_BYTES: Final = 1024 * MIB
"""An exported session that is imported: its kept bytes are held in memory until they are stored."""

LISTED_ENTRIES: Final = 1_000
"""Entries of one directory listing that a model gets."""

LISTED_LEVELS: Final = 20
"""Levels of directories in one listing; each holds a file descriptor open."""

READ_BYTES: Final = 1024 * MIB
"""Bytes of a file that are looked through for the lines a model asks for."""

DATABASE_CELL_BYTES: Final = 64 * MIB
"""One value in a foreign database."""

DATABASE_READ_BYTES: Final = 2048 * MIB
"""All values that are read of one session in a foreign database."""

DATABASE_STEPS: Final = 300_000_000
"""Steps of SQLite's virtual machine while one session is read: some 5 s. A row takes about 30 of them."""

DATABASE_ROW_S: Final = 5.0
"""Seconds of the processor until the next row. SQLite wrote 130 MB a second into temporary files (a sorted view)."""

# --- MCP servers ---------------------------------------------------------------------------------------------------

MCP_MESSAGE_BYTES: Final = 32 * MIB
"""One message of a server. The largest honest ones are results with several images, as base64."""

MCP_TOOLS: Final = 256
"""Tools of one server. Providers take 128 to 512 in a request; the largest public servers offer about 100."""

MCP_TOOL_NAME_CHARS: Final = 128
"""The name a server gives a tool: what the specification allows
(https://modelcontextprotocol.io/specification/2025-11-25/server/tools, "Tool Names")."""

MCP_DESCRIPTION_CHARS: Final = 16_000
"""A tool's description: 4,000 tokens. Descriptions of real tools stay below 10,000 characters."""

MCP_SCHEMA_BYTES: Final = 64_000
"""A tool's schema: some 16,000 tokens. Real ones stay below 30,000 bytes."""

MCP_DECLARED_BYTES: Final = 1 * MIB
"""All declarations of a server together: some 250,000 tokens, more than most windows hold."""

MCP_JUNK_LINES: Final = 1_000
"""Lines on a server's standard output that are no messages, before the server is given up."""

RESULT_CHARS: Final = 128 * MIB
"""The text of one tool result that is kept. What a model gets of it at once is far less: the result budget."""

RESULT_BLOCKS: Final = 1_000
"""Blocks in one result of an MCP tool."""

PICTURE_BYTES: Final = 20_000_000
"""One image that is given to a model; providers take 5 to 20 MB."""

PICTURES: Final = 20
"""Images in one result. Each costs about 1,500 tokens; providers take 100 in a request."""

PICTURE_SIDE: Final = 30_000
"""Pixels of an image's side, as its header gives them. Providers refuse images over 8,000 to 16,000."""

# --- Configuration --------------------------------------------------------------------------------------------------

CONFIG_BYTES: Final = 256 * KIB
"""One ``ullage.toml``. A long one with a dozen models and servers has 10 KiB."""

TOML_DEPTH: Final = 50
"""Levels of brackets, or of tables, in an ``ullage.toml``. tomllib recurses with them; settings need four, a JSON
schema in ``params`` some twenty."""

PARAMS_BYTES: Final = 64 * KIB
"""``params`` as JSON: an answer's schema with a few hundred fields."""

# --- The store -----------------------------------------------------------------------------------------------------

STORED_ROW_BYTES: Final = 256 * MIB
"""One event of a stored session, unpacked. The largest that is written is a message of 64 MB of JSON."""
