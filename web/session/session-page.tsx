import { useParams } from "react-router";

/** A session: its terminal, and its turns. */
export function SessionPage() {
  const { sessionId = "" } = useParams();
  return <h1>Session {sessionId}</h1>;
}
