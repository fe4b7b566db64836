// The Vercel AI SDK's useChat with Ullage behind it. The session's id is in the address: reload, and it continues.
import { useChat } from '@ai-sdk/react';
import {
  DefaultChatTransport,
  getToolName,
  isToolUIPart,
  lastAssistantMessageIsCompleteWithApprovalResponses,
} from 'ai';
import { createRoot } from 'react-dom/client';
import { Asked, Compose, Gauge, cancel, session, words } from './shared.jsx';

const api = '/v1/ai-sdk';

function Tool({ part, onAnswer }) {
  return (
    <div className="tool">
      <b>{getToolName(part)}</b> <code>{JSON.stringify(part.input)}</code>
      {part.state === 'output-available' && <div>→ {String(part.output)}</div>}
      {part.state === 'output-error' && <div className="error">{part.errorText}</div>}
      {part.state === 'output-denied' && <div>Not allowed.</div>}
      {part.state === 'approval-requested' && <Asked onAnswer={(approved) => onAnswer({ id: part.approval.id, approved })} />}
    </div>
  );
}

function Message({ message, onAnswer }) {
  return (
    <div className={`message ${message.role}`}>
      {message.parts.map((part, place) => {
        if (part.type === 'text') return <p key={place}>{part.text}</p>;
        if (part.type === 'reasoning') return <details key={place}><summary>Thinking</summary>{part.text}</details>;
        if (isToolUIPart(part)) return <Tool key={place} part={part} onAnswer={onAnswer} />;
        return null;
      })}
    </div>
  );
}

function Chat({ id, history }) {
  const { messages, sendMessage, addToolApprovalResponse, status, stop, error } = useChat({
    id,
    messages: history,
    resume: true, // what streams now
    transport: new DefaultChatTransport({ api }),
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  });
  const reading = messages.flatMap(({ parts }) => parts).findLast(({ type }) => type === 'data-ullage-reading')?.data;
  const isBusy = status === 'submitted' || status === 'streaming';
  return (
    <>
      <Gauge reading={reading} />
      {messages.map((message) => <Message key={message.id} message={message} onAnswer={addToolApprovalResponse} />)}
      {error && <p className="error">{words(error)}</p>}
      <Compose isBusy={isBusy} onSend={(text) => sendMessage({ text })} onStop={() => cancel(id).then(stop)} />
    </>
  );
}

const id = session();
const found = await fetch(`${api}/${id}/messages`); // what was said before
const history = found.ok ? await found.json() : [];
createRoot(document.getElementById('root')).render(<Chat id={id} history={history} />);
