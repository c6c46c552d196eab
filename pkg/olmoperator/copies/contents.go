package copies

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/tools/cache"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmclient"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator/copies/plan"
)

// maxContents limits the contents that are kept, in bytes. Copies of one original are written one after the other.
const maxContents = 8 << 20

// content is what the copies of an original contain.
type content struct {
	of           cache.ObjectName
	version      string // of the original
	state        plan.State
	metadata     metav1.ObjectMeta
	spec, status json.RawMessage
}

func (c *content) size() int { return len(c.spec) + len(c.status) }

// contents reads originals: caches keep a part of them only.
type contents struct {
	client *olmclient.Client
	mutex  sync.Mutex
	kept   []*content // the latest last
}

// of returns the content of an original that is at least as new as a cached one. One that cannot be copied has none.
func (c *contents) of(ctx context.Context, cached *operatorsv1alpha1.ClusterServiceVersion) (*content, error) {
	name := cache.MetaObjectToName(cached)
	c.mutex.Lock()
	defer c.mutex.Unlock()
	i := slices.IndexFunc(c.kept, func(kept *content) bool { return kept.of == name })
	if i >= 0 {
		order, err := resourceversion.CompareResourceVersion(c.kept[i].version, cached.ResourceVersion)
		if err == nil && order >= 0 {
			return c.kept[i], nil
		}
		c.kept = slices.Delete(c.kept, i, i+1)
	}
	read, err := c.read(ctx, name)
	if err != nil || read == nil {
		return nil, err
	}
	c.keep(read)
	return read, nil
}

func (c *contents) keep(read *content) {
	c.kept = append(c.kept, read)
	size := 0
	for i, kept := range slices.Backward(c.kept) {
		if size += kept.size(); size > maxContents && i < len(c.kept)-1 {
			c.kept = slices.Delete(c.kept, 0, i+1)
			return
		}
	}
}

// live is a ClusterServiceVersion whose spec is not decoded.
type live struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              json.RawMessage                               `json:"spec"`
	Status            operatorsv1alpha1.ClusterServiceVersionStatus `json:"status"`
}

func (l *live) csv() *operatorsv1alpha1.ClusterServiceVersion {
	return &operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: l.ObjectMeta, Status: l.Status}
}

func readLive(ctx context.Context, client *olmclient.Client, name cache.ObjectName) (*live, error) {
	text, err := client.EncodedClusterServiceVersions(name.Namespace).Get(ctx, name.Name)
	if err != nil {
		return nil, err
	}
	read := &live{}
	return read, json.Unmarshal(text, read)
}

func (c *contents) read(ctx context.Context, name cache.ObjectName) (*content, error) {
	read, err := readLive(ctx, c.client, name)
	if err != nil {
		return nil, err
	}
	csv := read.csv()
	if csv.IsCopied() || csv.IsUncopiable() {
		return nil, nil
	}
	status, err := json.Marshal(plan.Status(csv))
	if err != nil {
		return nil, err
	}
	return &content{of: name, version: csv.ResourceVersion, state: plan.StateOf(csv), metadata: plan.Metadata(csv), spec: read.Spec, status: status}, nil
}

// document is the JSON of a copy, or of a part of it.
type document struct {
	metav1.TypeMeta
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     json.RawMessage   `json:"spec,omitempty"`
	Status   json.RawMessage   `json:"status,omitempty"`
}

func (d document) encoded() ([]byte, error) {
	d.APIVersion, d.Kind = operatorsv1alpha1.SchemeGroupVersion.String(), operatorsv1alpha1.ClusterServiceVersionKind
	return json.Marshal(d)
}
