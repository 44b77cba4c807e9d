// Package kubernetes holds the files of deploy/ for Kubernetes to what Kubernetes,
// kustomize, Istio and Envoy Gateway take, and to our own settings and ports.
//
// It is a module of its own: what it imports to do so (the types of Kubernetes,
// kustomize) is none of the server's business. After a change of the root's go.mod,
// run go mod tidy here, too.
package kubernetes
