// Package release installs a release as the documentation describes, on an empty cluster, until a webhook is live. It
// takes the directory of the files of "make release", and serves them in place of GitHub. It runs the commands of the
// documentation: README.md, docs/admin and docs/author.
//
// These things do not come from the release: the cluster and its kubectl (test/cluster), helm, the image of the operator
// that kubectl webhooks init writes (hack/mkimage builds it in place of Docker), and the Go module pkg/hosting, which is
// not published before the release. The test makes the module from the commit of the release.
package release
