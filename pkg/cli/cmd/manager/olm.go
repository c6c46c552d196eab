package manager

import (
	"github.com/sirupsen/logrus"
	"k8s.io/client-go/tools/record"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/clients"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator"
)

// inPlaceOfOLM returns what --with-olm adds to the installation of operators.
func inPlaceOfOLM(_ clients.Set, _ *informers.Caches, _ record.EventRecorder, _ *logrus.Entry) olmoperator.Controllers {
	return nil
}
