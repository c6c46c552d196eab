package decide

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// A Deployment keeps the Service that it has, also if the version that named it exists no more.
func TestServiceName(t *testing.T) {
	mounting := func(secret string) *appsv1.Deployment {
		d := &appsv1.Deployment{}
		d.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: "author"}, {VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: secret}}}}
		return d
	}
	older := installtest.Operator(installtest.Deployments(installtest.DeploymentOf("manager"), installtest.DeploymentOf("other")))
	older.Name = "shop.v0"
	own, previous := csvspec.AlternateServiceName(installtest.Operator(nil), "manager"), csvspec.AlternateServiceName(older, "manager")
	for name, test := range map[string]struct {
		services []string
		live     *appsv1.Deployment
		upgrade  bool // from shop.v0
		occupied bool // the usual name
		want     string
	}{
		"a new Deployment":                              {want: "manager-service"},
		"the usual one exists":                          {services: []string{"manager-service"}, live: mounting("manager-service-cert"), want: "manager-service"},
		"the usual name is another client's":            {occupied: true, want: own},
		"an own alternate one exists":                   {services: []string{own}, want: own},
		"the previous version has an alternate one":     {services: []string{previous}, upgrade: true, want: previous},
		"the previous version had an alternate one":     {services: []string{previous}, live: mounting(names.Secret(previous)), want: previous},
		"such a Service exists, and no pod mounts that": {services: []string{previous}, live: mounting("manager-service-cert"), want: "manager-service"},
		"pods mount the certificate of another one":     {services: []string{"manager-service", "other-service"}, live: mounting("other-service-cert"), want: "manager-service"},
	} {
		t.Run(name, func(t *testing.T) {
			facts := Facts{CSV: installtest.Operator(installtest.Deployments(installtest.DeploymentOf("manager"), installtest.DeploymentOf("other")))}
			if test.upgrade {
				facts.Upgrade.From = []*operatorsv1alpha1.ClusterServiceVersion{older}
			}
			facts.Observed.Services, facts.Observed.Deployments = map[string]*corev1.Service{}, map[string]*appsv1.Deployment{}
			for _, service := range test.services {
				facts.Observed.Services[service] = &corev1.Service{}
			}
			if test.live != nil {
				facts.Observed.Deployments["manager"] = test.live
			}
			d := newDecision(facts, Results{}, time.Unix(1_000_000, 0))
			d.occupiedServices["manager"] = test.occupied
			installtest.Same(t, "the Service", test.want, d.serviceName("manager"))
		})
	}
}
