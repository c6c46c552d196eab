package manager

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/sirupsen/logrus"
	"k8s.io/client-go/tools/record"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/clients"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator/copies"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator/crdpolicy"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator/crdversions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator/csvmetrics"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator/installplans"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator/operators"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator/roles"
)

// allControllers returns the controller that installs operators, the one that makes held changes of definitions, and, with
// --with-olm, the others. The policy that holds changes outlives the flag if its ClusterRole is not deleted. A manager of
// some namespaces does not know all operators of a definition.
func allControllers(o runOptions, set clients.Set, c *controller.Controller, registry prometheus.Registerer, events record.EventRecorder, log *logrus.Entry) (olmoperator.Controllers, error) {
	if len(o.controller.Namespaces) > 0 {
		return olmoperator.Controllers{c}, nil
	}
	caches := c.Caches()
	versions, err := crdversions.New(set.Extensions, caches, events, log)
	if err != nil || !o.withOLM {
		return olmoperator.Controllers{c, versions}, err
	}
	plans, err := installplans.New(set.OLM, caches, events, log)
	if err != nil {
		return nil, err
	}
	copying, err := copies.New(set, caches, events, log, o.protected)
	if err != nil {
		return nil, err
	}
	return olmoperator.Controllers{
		c,
		csvmetrics.New(registry, c.Versions()),
		operators.New(set, caches, events, log),
		roles.New(set.Kube, caches, events, log),
		versions,
		plans,
		copying,
		crdpolicy.New(set.Kube, caches.ClusterRoles, log),
	}, nil
}
