package backends

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// KeptPorts is the record on a Service of an edit that has not taken effect yet (see keepPorts).
type KeptPorts struct {
	// Kept are the ports that API servers call.
	Kept []KeptPort `json:"kept,omitempty"`
	// Pending are the desired ports that no API server calls yet.
	Pending []int32 `json:"pending,omitempty"`
}

// KeptPort is a port of a Service with its previous target.
type KeptPort struct {
	Port       int32              `json:"port"`
	TargetPort intstr.IntOrString `json:"targetPort"`
	// Left is set if registrations move to another port or are removed.
	Left bool `json:"left,omitempty"`
	// Since is when no registration called the port any more.
	Since *time.Time `json:"since,omitempty"`
}

// KeptPortsOf reads the record of a Service. It ignores an invalid record.
func KeptPortsOf(service *corev1.Service) KeptPorts {
	var record KeptPorts
	if text := service.Annotations[wellknown.AnnotationKeptPorts]; text == "" || json.Unmarshal([]byte(text), &record) != nil {
		return KeptPorts{}
	}
	return record
}

func (r KeptPorts) String() string {
	text, err := json.Marshal(r)
	if err != nil {
		panic(err) // numbers and strings always marshal
	}
	return string(text)
}

// Empty reports whether no port is kept.
func (r KeptPorts) Empty() bool { return len(r.Kept)+len(r.Pending) == 0 }

// Find returns a kept port.
func (r KeptPorts) Find(port int32) (KeptPort, bool) {
	if i := slices.IndexFunc(r.Kept, func(k KeptPort) bool { return k.Port == port }); i >= 0 {
		return r.Kept[i], true
	}
	return KeptPort{}, false
}

// Ports returns the kept ports.
func (r KeptPorts) Ports() []corev1.ServicePort {
	return lists.Map(r.Kept, func(k KeptPort) corev1.ServicePort {
		return corev1.ServicePort{Name: strconv.Itoa(int(k.Port)), Protocol: corev1.ProtocolTCP, Port: k.Port, TargetPort: k.TargetPort}
	})
}

// Over replaces the ports with the same number by the kept ones.
func (r KeptPorts) Over(ports []corev1.ServicePort) []corev1.ServicePort {
	return drift.WithPorts(ports, r.Ports())
}

func (r KeptPorts) called(ports []corev1.ServicePort) []corev1.ServicePort {
	return slices.DeleteFunc(r.Over(ports), func(p corev1.ServicePort) bool { return slices.Contains(r.Pending, p.Port) })
}
