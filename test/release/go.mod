module github.com/olm-webhook-manager/olm-webhook-manager/test/release

go 1.26.3

require golang.org/x/mod v0.43.0
