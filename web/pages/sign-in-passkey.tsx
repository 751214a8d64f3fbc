import { Fingerprint } from "lucide-react";
import { usePasskeySignIn } from "../api/sign-in.ts";
import { Button } from "../ui/button.tsx";
import { ErrorNotice } from "../ui/notice.tsx";
import { obstacleHere, passkeyProblem } from "./passkey-words.ts";

/** The short way in, for who has made a passkey; where there can be none, why. */
export function PasskeySignIn({ onSignedIn }: { readonly onSignedIn: (key: string) => void }) {
  const signIn = usePasskeySignIn();
  const obstacle = obstacleHere();
  if (obstacle !== null) {
    return (
      <p className="text-sm text-ink-faint">
        To sign in with a passkey,{" "}
        {obstacle.elsewhere === null ? (
          "open this page at another address."
        ) : (
          <a href={obstacle.elsewhere} className="text-accent underline">
            open this page on localhost
          </a>
        )}
        {obstacle.elsewhere === null ? " " : ". "}
        {obstacle.words}
      </p>
    );
  }
  return (
    <div className="flex flex-col gap-3">
      <Button
        variant="primary"
        size="lg"
        icon={Fingerprint}
        busy={signIn.isPending}
        onClick={() => signIn.mutate(undefined, { onSuccess: ({ key }) => onSignedIn(key) })}
      >
        Sign in with a passkey
      </Button>
      {signIn.error !== null && <ErrorNotice error={passkeyProblem(signIn.error)} />}
    </div>
  );
}
