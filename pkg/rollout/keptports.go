package rollout

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/vocabulary"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// keptPorts is the record on a Service of an edit that has not taken effect yet (see keepPorts).
type keptPorts struct {
	// Kept are the ports that API servers call, as they call them.
	Kept []keptPort `json:"kept,omitempty"`
	// Pending are the ports that are to be called, and that no API server calls yet.
	Pending []int32 `json:"pending,omitempty"`
}

// keptPort is a port of a Service that leads where the description pointed it before.
type keptPort struct {
	Port       int32              `json:"port"`
	TargetPort intstr.IntOrString `json:"targetPort"`
	// Left is set when registrations move to another port, or are removed.
	Left bool `json:"left,omitempty"`
	// Since is when no registration called the port any more.
	Since *time.Time `json:"since,omitempty"`
}

// keptPortsOf reads the record of a Service. A text that the manager cannot have written is none.
func keptPortsOf(service *corev1.Service) keptPorts {
	var record keptPorts
	if text := service.Annotations[vocabulary.AnnotationKeptPorts]; text == "" || json.Unmarshal([]byte(text), &record) != nil {
		return keptPorts{}
	}
	return record
}

func (r keptPorts) String() string {
	text, err := json.Marshal(r)
	if err != nil {
		panic(err) // numbers and strings always marshal
	}
	return string(text)
}

func (r keptPorts) empty() bool { return len(r.Kept)+len(r.Pending) == 0 }

func (r keptPorts) find(port int32) (keptPort, bool) {
	if i := slices.IndexFunc(r.Kept, func(k keptPort) bool { return k.Port == port }); i >= 0 {
		return r.Kept[i], true
	}
	return keptPort{}, false
}

// ports are the kept ports as a Service has them.
func (r keptPorts) ports() []corev1.ServicePort {
	var all []corev1.ServicePort
	for _, k := range r.Kept {
		all = append(all, corev1.ServicePort{Name: strconv.Itoa(int(k.Port)), Protocol: corev1.ProtocolTCP, Port: k.Port, TargetPort: k.TargetPort})
	}
	return all
}

// over are the ports of a Service in which the kept ones take the place of those with the same number.
func (r keptPorts) over(ports []corev1.ServicePort) []corev1.ServicePort {
	return drift.WithPorts(ports, r.ports())
}

// called are the ports of a Service that API servers call, as far as the record shows.
func (r keptPorts) called(ports []corev1.ServicePort) []corev1.ServicePort {
	return slices.DeleteFunc(r.over(ports), func(p corev1.ServicePort) bool { return slices.Contains(r.Pending, p.Port) })
}
