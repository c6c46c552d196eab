package manager

import (
	"github.com/sirupsen/logrus"
	"k8s.io/client-go/tools/record"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/clients"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator/crdpolicy"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator/crdversions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator/installplans"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator/operators"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator/roles"
)

// inPlaceOfOLM returns what --with-olm adds to the installation of operators.
func inPlaceOfOLM(set clients.Set, caches *informers.Caches, events record.EventRecorder, log *logrus.Entry) (olmoperator.Controllers, error) {
	versions, err := crdversions.New(set.Extensions, caches, events, log)
	if err != nil {
		return nil, err
	}
	plans, err := installplans.New(set.OLM, caches, events, log)
	if err != nil {
		return nil, err
	}
	return olmoperator.Controllers{
		operators.New(set, caches, events, log),
		roles.New(set.Kube, caches, events, log),
		versions,
		plans,
		crdpolicy.New(set.Kube, caches.ClusterRoles, log),
	}, nil
}
