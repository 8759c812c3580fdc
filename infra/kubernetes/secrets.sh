#!/usr/bin/env bash
# Makes the secret `tomrl` from the environment, so that no file holds one: a token for Ray, made here
# where it is not given, and those of the servers and hubs that are set. Run it again to change one.
#
# KubeRay reads the key auth_token, this program RAY_AUTH_TOKEN.
set -euo pipefail

RAY_AUTH_TOKEN=${RAY_AUTH_TOKEN:-$(openssl rand -hex 32)}
export RAY_AUTH_TOKEN
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
chmod 700 "$folder"
printf %s "$RAY_AUTH_TOKEN" >"$folder/auth_token"
for name in RAY_AUTH_TOKEN HF_TOKEN OPENAI_API_KEY DEEPSEEK_API_KEY PREFECT_API_AUTH_STRING \
    MLFLOW_TRACKING_USERNAME MLFLOW_TRACKING_PASSWORD; do
    if [ -n "${!name:-}" ]; then printf %s "${!name}" >"$folder/$name"; fi
done
kubectl create secret generic tomrl --namespace tomrl --from-file "$folder" --dry-run=client --output yaml |
    kubectl apply --filename -
