export function FoldersPage() {
  return <h1>Folders</h1>;
}
