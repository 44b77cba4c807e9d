.DEFAULT_GOAL := help

help: ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

run: ## serve the rules of config/ on the embedded store
	go run ./cmd/envoy-rls run --rules config

build: ## build ./envoy-rls
	CGO_ENABLED=0 go build -trimpath -ldflags="-s -w" -o envoy-rls ./cmd/envoy-rls

check: ## check the rules of config/
	go run ./cmd/envoy-rls check config

test: ## install what is missing and run every test (./test.sh)
	./test.sh

unit: ## run the tests that need neither Envoy nor the race detector
	go test $$(go list ./... | grep -v /test/)

e2e: ## run the tests behind a real Envoy (./test.sh installs it)
	go test -race -count 1 ./test/e2e

soak: ## ten minutes of overload: rates hold, memory stays flat
	SOAK=10m go test -v -count 1 -timeout 15m ./test/soak

bench: ## run the benchmarks, as benchstat reads them
	@go test -run '^$$' -bench . -benchmem ./...

compare: ## compare the CPU of a call with an empty gRPC server's
	go run ./cmd/envoy-rls bench --compare

golden: ## rewrite the golden files; look at the difference before you commit it
	go test ./pkg/... ./internal/... -rewrite

image: ## build the container image
	docker build -f deploy/Dockerfile -t envoy-rls .

.PHONY: help run build check test unit e2e soak bench compare golden image
