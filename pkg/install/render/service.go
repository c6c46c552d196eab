package render

import (
	"cmp"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
)

func service(in Input, spec operatorsv1alpha1.StrategyDeploymentSpec, ports portTable) *corev1.Service {
	meta := csvspec.OwnedMeta(in.CSV, in.Services[spec.Name])
	meta.Annotations = in.Config.Propagated()
	if asking := in.Trust[spec.Name].ServiceAnnotations; len(asking) > 0 {
		meta.Annotations = labels.Merge(meta.Annotations, asking)
	}
	return &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: meta,
		Spec: corev1.ServiceSpec{
			Type:     corev1.ServiceTypeClusterIP,
			Selector: podLabels(spec),
			Ports:    ports.service,
		},
	}
}

// CalledService is the part of a Deployment's Service that says whom it leads to, as the
// ClusterServiceVersion wants it; nil where that does not list the Deployment.
func CalledService(csv *operatorsv1alpha1.ClusterServiceVersion, deployment, name string) *corev1.Service {
	for _, spec := range csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		if spec.Name == deployment {
			in := Input{CSV: csv, Services: map[string]string{deployment: name}}
			return service(in, spec, allocatePorts(csvspec.Descriptions(csv, deployment)))
		}
	}
	return nil
}

// podLabels select the pods of a Deployment. A Service knows equality alone: where
// the Deployment selects by expressions only, the labels of its pods stand in.
func podLabels(spec operatorsv1alpha1.StrategyDeploymentSpec) map[string]string {
	if spec.Spec.Selector != nil && len(spec.Spec.Selector.MatchLabels) > 0 {
		return spec.Spec.Selector.MatchLabels
	}
	return spec.Spec.Template.Labels
}

// portTable is how the descriptions of one Deployment share its Service.
type portTable struct {
	service []corev1.ServicePort
	of      []int32 // the Service's port, by index of the description
}

// portPair is what a description says about its port.
type portPair struct {
	port   int32
	target intstr.IntOrString
}

// portPairOf fills in what the description leaves open. A target of 0 or "" is one
// that is left open: the API server takes it so, too.
func portPairOf(d operatorsv1alpha1.WebhookDescription) portPair {
	p := portPair{port: cmp.Or(d.ContainerPort, csvspec.DefaultPort)}
	p.target = intstr.FromInt32(p.port)
	if d.TargetPort != nil && d.TargetPort.String() != "0" && d.TargetPort.String() != "" {
		p.target = *d.TargetPort
	}
	return p
}

// TargetPort is the port of the pods that a description's calls go to.
func TargetPort(d operatorsv1alpha1.WebhookDescription) intstr.IntOrString {
	return portPairOf(d).target
}

// allocatePorts gives every pair of containerPort and targetPort a port of the
// Service: the containerPort itself for the first pair that has it. Two pairs with
// one containerPort cannot both have that number, so the later one takes the
// next number that no description asks for.
func allocatePorts(descriptions []operatorsv1alpha1.WebhookDescription) portTable {
	taken := map[int32]bool{}
	for _, d := range descriptions {
		taken[portPairOf(d).port] = true
	}
	var table portTable
	given, first := map[portPair]int32{}, map[int32]bool{}
	for _, d := range descriptions {
		p := portPairOf(d)
		port, known := given[p]
		if !known {
			port = p.port
			for first[p.port] && taken[port] {
				port = port%65535 + 1
			}
			given[p], first[p.port], taken[port] = port, true, true
			table.service = append(table.service, corev1.ServicePort{
				Name:       strconv.Itoa(int(port)),
				Protocol:   corev1.ProtocolTCP,
				Port:       port,
				TargetPort: p.target,
			})
		}
		table.of = append(table.of, port)
	}
	return table
}
