#!/bin/sh
# Runtime stage, as root: installs system packages, and creates an unprivileged user and its two volumes.
set -eu
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends ca-certificates git openssh-client tini
rm -rf /var/lib/apt/lists/*
# Rename the user of Node's image. Its id is 1000, like the first user's on most machines.
usermod --login postern --home /home/postern --shell /bin/bash node
groupmod --new-name postern node
rm -rf /home/node
# The sources may have been checked out with umask 077.
chmod -R u=rwX,go=rX /opt/postern
# New volumes get this owner and mode.
install -d -o postern -g postern -m 0700 /home/postern
install -d -o postern -g postern -m 0755 /code
