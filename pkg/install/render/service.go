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

// CalledService returns selector and ports as the CSV defines them; nil without the Deployment.
func CalledService(csv *operatorsv1alpha1.ClusterServiceVersion, deployment, name string) *corev1.Service {
	for _, spec := range csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		if spec.Name == deployment {
			in := Input{CSV: csv, Services: map[string]string{deployment: name}}
			return service(in, spec, allocatePorts(csvspec.Descriptions(csv, deployment)))
		}
	}
	return nil
}

// A Service supports only equality: if a Deployment has only expressions, the labels of its pods are used.
func podLabels(spec operatorsv1alpha1.StrategyDeploymentSpec) map[string]string {
	if spec.Spec.Selector != nil && len(spec.Spec.Selector.MatchLabels) > 0 {
		return spec.Spec.Selector.MatchLabels
	}
	return spec.Spec.Template.Labels
}

// portTable has the ports of the descriptions of one Deployment.
type portTable struct {
	service []corev1.ServicePort
	of      []int32 // the Service's port, by index of the description
}

type portPair struct {
	port   int32
	target intstr.IntOrString
}

// Like the API server, it treats the targets 0 and "" as not set.
func portPairOf(d operatorsv1alpha1.WebhookDescription) portPair {
	p := portPair{port: cmp.Or(d.ContainerPort, csvspec.DefaultPort)}
	p.target = intstr.FromInt32(p.port)
	if d.TargetPort != nil && d.TargetPort.String() != "0" && d.TargetPort.String() != "" {
		p.target = *d.TargetPort
	}
	return p
}

// TargetPort returns the port of the pods that a description calls.
func TargetPort(d operatorsv1alpha1.WebhookDescription) intstr.IntOrString {
	return portPairOf(d).target
}

// allocatePorts gives each pair its containerPort, or the next unused number if an earlier pair has that.
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
