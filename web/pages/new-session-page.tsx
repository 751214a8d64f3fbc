export function NewSessionPage() {
  return <h1>NewSession</h1>;
}
