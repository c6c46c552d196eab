package copies

import (
	"context"
	"errors"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/records"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmclient"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator/copies/plan"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// configName is the only OLMConfig that counts, and definitionName its definition, which a cluster need not have.
var configName = cache.ObjectName{Name: "cluster"}

const definitionName = "olmconfigs.operators.coreos.com"

// olmConfig is the cache of OLMConfig. It is filled when the definition exists.
type olmConfig struct {
	caches *informers.Caches
	store  informers.Store[*operatorsv1.OLMConfig]
	notify func(setting bool) // after a change of the setting, or of another part

	mutex   sync.Mutex
	end     <-chan struct{} // nil before fill
	started bool
}

func newOLMConfig(client *olmclient.Client, caches *informers.Caches, notify func(setting bool)) *olmConfig {
	return &olmConfig{caches: caches, store: informers.NewStore[*operatorsv1.OLMConfig](nil, olmclient.NewInformer(client.OLMConfigs())), notify: notify}
}

func (o *olmConfig) isDefined() bool {
	crd := o.caches.CRDs.Get("", definitionName)
	return crd != nil && apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Established) && apihelpers.HasServedCRDVersion(crd, operatorsv1.GroupVersion.Version)
}

// fill starts the cache now or, if the definition does not exist yet, later.
func (o *olmConfig) fill(ctx context.Context) error {
	o.mutex.Lock()
	o.end = ctx.Done()
	o.mutex.Unlock()
	if o.start() && !cache.WaitForCacheSync(ctx.Done(), o.store.Synced) {
		return errors.New("stopped before the cache of OLMConfig was filled")
	}
	return nil
}

// start reports whether the cache is started.
func (o *olmConfig) start() bool {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.started || o.end == nil || !o.isDefined() {
		return o.started
	}
	o.started = true
	end := o.end
	go o.store.Informers[0].Run(end)
	go func() {
		if cache.WaitForCacheSync(end, o.store.Synced) {
			o.notify(true) // there may be no object
		}
	}()
	return true
}

func (o *olmConfig) definitionChanged(before, after drift.Object) {
	if present(before, after).GetName() == definitionName {
		o.start()
		o.notify(true)
	}
}

func (o *olmConfig) changed(before, after drift.Object) {
	if present(before, after).GetName() != configName.Name {
		return
	}
	was, _ := before.(*operatorsv1.OLMConfig)
	is, _ := after.(*operatorsv1.OLMConfig)
	o.notify(was.CopiedCSVsAreEnabled() != is.CopiedCSVsAreEnabled())
}

// everywhere returns what is requested for operators of all namespaces.
func (o *olmConfig) everywhere() plan.Switch {
	switch {
	case !o.isDefined():
		return plan.Enabled
	case !o.store.Synced():
		return plan.Unknown
	case o.get().CopiedCSVsAreEnabled():
		return plan.Enabled
	default:
		return plan.Disabled
	}
}

// get returns nil if there is no OLMConfig.
func (o *olmConfig) get() *operatorsv1.OLMConfig { return o.store.Get("", configName.Name) }

// reconcileConfig reports in the status whether the copies of operators of all namespaces are as requested.
func (c *Controller) reconcileConfig(ctx context.Context, _ cache.ObjectName) error {
	config := c.olmConfig.get()
	if config == nil || !c.olmConfig.isDefined() {
		return nil
	}
	condition := plan.Condition(!config.CopiedCSVsAreEnabled(), c.pending.none())
	conditions, changed := plan.SetCondition(config.Status.Conditions, condition, metav1.NewTime(c.now()))
	if !changed {
		return nil
	}
	object, fields := records.FieldObjectOf("OLMConfig", config), map[string]string{"status.conditions": condition.Message}
	if held, until, _ := c.contests.Held(object, fields, c.now()); len(held) > 0 {
		c.config.AddAfter(configName, until.Sub(c.now()))
		return nil
	}
	updated := config.DeepCopy()
	updated.Status.Conditions = conditions
	if _, err := c.OLM.OLMConfigs().UpdateStatus(ctx, updated, metav1.UpdateOptions{FieldManager: wellknown.FieldManager}); err != nil {
		return err
	}
	c.contests.Wrote(object, fields, c.now())
	return nil
}
