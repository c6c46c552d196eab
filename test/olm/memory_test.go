package olm

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// memory is the most that a pod of a Deployment used at once, as its kubelet reports.
type memory struct {
	mutex sync.Mutex
	most  uint64
	stop  func()
}

type podUsage struct {
	PodRef struct{ Name string }
	Memory struct{ WorkingSetBytes uint64 }
}

func (m *memory) observe(e *env) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(e.ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			m.read(ctx)
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
	}()
	m.stop = sync.OnceFunc(func() {
		cancel()
		<-ended
	})
	e.Cleanup(m.stop)
}

func (m *memory) read(ctx context.Context) {
	nodes, err := kubeClient.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	for _, node := range nodes.Items {
		for _, pod := range usageOf(ctx, node) {
			if strings.HasPrefix(pod.PodRef.Name, *operatorName+"-") {
				m.mutex.Lock()
				m.most = max(m.most, pod.Memory.WorkingSetBytes)
				m.mutex.Unlock()
			}
		}
	}
}

func usageOf(ctx context.Context, node corev1.Node) []podUsage {
	raw, err := kubeClient.CoreV1().RESTClient().Get().Resource("nodes").Name(node.Name).SubResource("proxy", "stats", "summary").DoRaw(ctx)
	if err != nil {
		return nil
	}
	var summary struct{ Pods []podUsage }
	if err := json.Unmarshal(raw, &summary); err != nil {
		return nil
	}
	return summary.Pods
}

func (m *memory) end() uint64 {
	m.stop()
	return m.most
}
