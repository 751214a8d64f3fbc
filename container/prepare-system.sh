#!/bin/sh
# Runtime stage, as root: the system's packages, and a user without privileges with its two volumes.
set -eu
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends ca-certificates git openssh-client tini
rm -rf /var/lib/apt/lists/*
# Node's image brings a user with the number that a person's own user mostly has: it becomes ours.
usermod --login postern --home /home/postern --shell /bin/bash node
groupmod --new-name postern node
rm -rf /home/node
# The sources may be of somebody who lets nobody else read files (umask 077).
chmod -R u=rwX,go=rX /opt/postern
# A new volume takes owner and mode from here.
install -d -o postern -g postern -m 0700 /home/postern
install -d -o postern -g postern -m 0755 /code
