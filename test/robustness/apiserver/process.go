package apiserver

import (
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/feature"
)

// Kubernetes keeps some state in variables of the process, which bubbles share.
func init() {
	feature.DefaultFeatureSupportChecker = progressing{feature.DefaultFeatureSupportChecker}
	// The second handler sleeps until a millisecond after the last error of the process. For a bubble, whose time begins in the year 2000, that is
	// decades away.
	utilruntime.ErrorHandlers = utilruntime.ErrorHandlers[:1] //nolint:reassign // it exists to be changed
}

// progressing declares that etcd can report the progress of watches.
type progressing struct{ feature.FeatureSupportChecker }

func (progressing) Supports(storage.Feature) bool { return true }
