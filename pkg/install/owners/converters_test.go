package owners

import (
	"maps"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestConverters(t *testing.T) {
	csv := converter()
	ours := &corev1.Service{ObjectMeta: csvspec.OwnedMeta(csv, "former-service")}
	unlabelled := &corev1.Service{ObjectMeta: csvspec.OwnedMeta(csv, "server-service")}
	unlabelled.Labels = nil
	theirs := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "server-service"}}
	left := &corev1.Service{ObjectMeta: csvspec.OwnedMeta(csv, "server-service")}
	left.Labels = map[string]string{"olm.managed": "true", "olm.owner": "shop.v0"}
	left.OwnerReferences = []metav1.OwnerReference{definitionOwner(installtest.Definition("things.example.com"))}
	things := func(service string) *apiextensionsv1.CustomResourceDefinition {
		crd := convertedBy(service)
		crd.Name = "things.example.com"
		return crd
	}
	elsewhere := things("server-service")
	elsewhere.Spec.Conversion.Webhook.ClientConfig.Service.Namespace = "elsewhere"
	for name, test := range map[string]struct {
		services []*corev1.Service
		crd      *apiextensionsv1.CustomResourceDefinition
		want     []string
	}{
		"its Service":                                  {[]*corev1.Service{ours}, installtest.Definition("things.example.com"), []string{"former-service"}},
		"its Service no longer exists":                 {nil, things("server-service"), []string{"server-service"}},
		"the one with the other name no longer exists": {nil, things(csvspec.AlternateServiceName(csv, "server")), []string{csvspec.AlternateServiceName(csv, "server")}},
		"one of another Deployment":                    {nil, things("other-service"), nil},
		"it does not declare the definition":           {nil, convertedBy("server-service"), nil},
		"of another namespace":                         {nil, elsewhere, nil},
		"another client has a Service so called":       {[]*corev1.Service{theirs}, things("server-service"), nil},
		"another client removed the labels":            {[]*corev1.Service{unlabelled}, things("server-service"), []string{"server-service"}},
		"a version that no longer exists left it":      {[]*corev1.Service{left}, things("server-service"), []string{"server-service"}},
		"nothing converts":                             {nil, installtest.Definition("things.example.com"), nil},
	} {
		got := slices.Sorted(maps.Keys(Converters(csv, test.services, []*apiextensionsv1.CustomResourceDefinition{test.crd})))
		installtest.Same(t, name+": Services", test.want, got)
	}
}

// Only what a version owns by its uid stays with it when another one is deleted.
func TestBackends(t *testing.T) {
	csv := installtest.Operator(installtest.Deployments(installtest.DeploymentOf("manager")))
	csv.UID = "v1"
	other := csv.DeepCopy()
	other.Name, other.UID = "shop.v2", "v2"
	meta := func(name string, owners ...*operatorsv1alpha1.ClusterServiceVersion) metav1.ObjectMeta {
		m := csvspec.OwnedMeta(other, name)
		m.OwnerReferences = nil
		for _, owner := range owners {
			m.OwnerReferences = append(m.OwnerReferences, csvspec.OwnedMeta(owner, name).OwnerReferences...)
		}
		return m
	}
	for name, test := range map[string]struct {
		deployment, service metav1.ObjectMeta
		installed, serves   bool
	}{
		"shared by both versions":   {meta("manager", other, csv), meta("manager-service", other, csv), true, true},
		"the other version's alone": {meta("manager", other), meta("manager-service", other), false, false},
		"only the Deployment":       {meta("manager", other, csv), meta("manager-service", other), true, false},
		"only the Service":          {meta("manager", other), meta("manager-service", other, csv), false, false},
		"a Service of another name": {meta("manager", csv), meta(csvspec.AlternateServiceName(csv, "manager"), csv), true, true},
		"another Deployment":        {meta("server", csv), meta("manager-service", csv), false, false},
	} {
		backends := Backends{[]*appsv1.Deployment{{ObjectMeta: test.deployment}}, []*corev1.Service{{ObjectMeta: test.service}}}
		installtest.Same(t, name+": installed", test.installed, backends.Installed(csv))
		installtest.Same(t, name+": serves", test.serves, backends.Serve(csv, "manager"))
		installtest.Same(t, name+": serves any", test.serves, backends.ServesAny(csv))
	}
}
