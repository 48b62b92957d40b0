#!/bin/sh
# Regenerates the Go code of a protocol: generate.sh NAME, in the folder of
# NAME.proto. Needs protoc on PATH (Debian: protobuf-compiler); its Go plugins
# come from go.mod.
set -eu
name=$1

command -v protoc >/dev/null || {
    echo "generate.sh: protoc not found; install protobuf-compiler" >&2
    exit 1
}

protoc --proto_path=. \
    --plugin=protoc-gen-go="$(go tool -n protoc-gen-go)" \
    --plugin=protoc-gen-go-grpc="$(go tool -n protoc-gen-go-grpc)" \
    --go_out=. --go_opt=paths=source_relative \
    --go-grpc_out=. --go-grpc_opt=paths=source_relative \
    "$name.proto"

# The version of protoc in the header is all that differs between versions of
# protoc; without it the output depends on go.mod alone.
sed -i -E '/^\/\/ ?-?[[:space:]]+protoc +v/d' "$name.pb.go" "${name}_grpc.pb.go"
