# usage: GATEWAY=http://localhost:7177 TOKEN=pst_… python3 client.py <directory> <prompt>
import json, os, sys, urllib.error, urllib.request

def call(tool, **fields):
    headers = {"Authorization": "Bearer " + os.environ["TOKEN"], "Content-Type": "application/json"}
    url = os.environ["GATEWAY"] + "/api/coding/" + tool
    try:
        with urllib.request.urlopen(urllib.request.Request(url, json.dumps(fields).encode(), headers)) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        problem = json.load(error)
        sys.exit(f"{problem['code']}: {problem['detail']}")

session = call("coding_ask", dir=sys.argv[1], prompt=sys.argv[2], waitMs=60_000)
while session["activity"] not in ("idle", None):  # None: its agent has ended
    session_id = session["sessionId"]
    for asked in session["permissions"]:
        print(f"The agent wants to use {asked['tool']}: {json.dumps(asked['input'])}. Allow? [y/N] ", file=sys.stderr)
        decision = "allow" if sys.stdin.readline().strip() == "y" else "deny"
        call("coding_answer_permission", sessionId=session_id, permissionId=asked["permissionId"], decision=decision)
    session = call("coding_read_session", sessionId=session_id, last=2, waitMs=5_000)
for turn in session["turns"]:
    print(f"{turn['role']}: {turn['text']}")
