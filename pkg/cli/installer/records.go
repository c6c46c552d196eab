package installer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/kubernetes"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/groupkind"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/deploy"
)

type recordStore struct{ kube kubernetes.Interface }

func (s recordStore) of(ctx context.Context, i Installation) (deploy.Record, error) {
	return s.get(ctx, i.Bundle.RecordedPackage(), i.Namespace())
}

func (s recordStore) get(ctx context.Context, packageName, namespace string) (deploy.Record, error) {
	empty, name := deploy.Record{Namespace: namespace, Package: packageName}, deploy.RecordName(packageName)
	if wrong := utilvalidation.IsDNS1123Subdomain(name); len(wrong) > 0 {
		return empty, fmt.Errorf("the package name %q makes no valid name of a ConfigMap: %s", packageName, wrong[0])
	}
	live, err := orNil(s.kube.CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{}))
	if err != nil || live == nil {
		return empty, err
	}
	r, err := deploy.ReadRecord(live)
	if err != nil {
		return r, fmt.Errorf("ConfigMap %s/%s, which records what the installation created, cannot be read: %w: restore it, or delete it and adopt each object", namespace, name, err)
	}
	return r, nil
}

func (s recordStore) others(ctx context.Context, i Installation) (map[string]deploy.Record, error) {
	records, err := s.list(ctx, i.Namespace())
	delete(records, i.Bundle.RecordedPackage())
	return records, err
}

// list returns the records in a namespace, by package. It omits records that cannot be read.
func (s recordStore) list(ctx context.Context, namespace string) (map[string]deploy.Record, error) {
	list, err := s.kube.CoreV1().ConfigMaps(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	records := map[string]deploy.Record{}
	for _, live := range list.Items {
		_, is := deploy.IsRecordName(live.Name)
		if r, err := deploy.ReadRecord(&live); is && err == nil {
			records[r.Package] = r
		}
	}
	return records, nil
}

// interruptGrace limits how long an interrupted command takes to end a write, and to record it.
const interruptGrace = 10 * time.Second

// afterInterrupt outlives the command's interruption: the record has to report whether a write was done.
func afterInterrupt(ctx context.Context) (context.Context, context.CancelFunc) {
	after, cancel := context.WithCancel(context.WithoutCancel(ctx)) //nolint:forbidigo // It ends after interruptGrace.
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(interruptGrace, cancel) })
	return after, func() { stop(); cancel() }
}

// dryRunRecord returns why the API server would not store the record of a plan; nil if the dry run is impossible.
func (c *Installer) dryRunRecord(ctx context.Context, a applier, p Plan) (refused, err error) {
	record := p.record
	record.Objects = slices.Clone(record.Objects)
	for _, s := range p.steps {
		record.Add(s)
	}
	data, err := record.Data()
	if err != nil {
		return nil, err
	}
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(groupkind.ConfigMap.Kind))
	o.SetNamespace(record.Namespace)
	o.SetName(deploy.RecordName(record.Package))
	if err := unstructured.SetNestedStringMap(o.Object, data, "data"); err != nil {
		return nil, err
	}
	if missing, err := a.missing(ctx, o); err != nil {
		return nil, err
	} else if missing != "" {
		return a.dryRunInDefault(ctx, o)
	}
	return c.records.save(ctx, &record, metav1.DryRunAll), nil
}

// save writes the record, also when the command is being interrupted, if it is still the one that was read.
func (s recordStore) save(ctx context.Context, r *deploy.Record, dryRun ...string) error {
	ctx, cancel := afterInterrupt(ctx)
	defer cancel()
	data, err := r.Data()
	if err != nil {
		return err
	}
	written, err := s.store(ctx, *r, data, dryRun...)
	if err != nil {
		return fmt.Errorf("ConfigMap %s/%s, which records what the installation created: %w", r.Namespace, deploy.RecordName(r.Package), err)
	}
	if len(dryRun) == 0 {
		r.Version = written.ResourceVersion
	}
	return nil
}

// errOtherCommand means that two commands run at once.
var errOtherCommand = errors.New("it was written or deleted by another command since it was read: wait until that one has ended, then run the same command again")

func (s recordStore) store(ctx context.Context, r deploy.Record, data map[string]string, dryRun ...string) (*corev1.ConfigMap, error) {
	client, name := s.kube.CoreV1().ConfigMaps(r.Namespace), deploy.RecordName(r.Package)
	live, err := orNil(client.Get(ctx, name, metav1.GetOptions{}))
	switch {
	case err != nil:
		return nil, err
	case live == nil && r.Version == "":
		live, err = client.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data}, metav1.CreateOptions{FieldManager: deploy.FieldManager, DryRun: dryRun})
	case live == nil || live.ResourceVersion != r.Version:
		return nil, errOtherCommand
	case !equality.Semantic.DeepEqual(live.Data, data):
		live.Data = data
		live, err = client.Update(ctx, live, metav1.UpdateOptions{FieldManager: deploy.FieldManager, DryRun: dryRun})
	}
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return nil, errOtherCommand
	}
	return live, err
}

// delete deletes a record, unless something remains that it is about.
func (s recordStore) delete(ctx context.Context, rest deploy.Record) error {
	if len(rest.Objects) > 0 {
		return s.save(ctx, &rest)
	}
	options := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &rest.Version}}
	err := s.kube.CoreV1().ConfigMaps(rest.Namespace).Delete(ctx, deploy.RecordName(rest.Package), options)
	return utilerrors.FilterOut(err, apierrors.IsNotFound)
}

func orNil[T any](object *T, err error) (*T, error) {
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return object, err
}

// removeFromAll removes the deleted objects from all records of the namespace.
func (s recordStore) removeFromAll(ctx context.Context, i Installation, removal deploy.Removal, removed []*unstructured.Unstructured) error {
	ctx, cancel := afterInterrupt(ctx)
	defer cancel()
	records, err := s.after(ctx, i, removal, removed)
	if err != nil {
		return err
	}
	for _, rest := range records {
		if err := s.delete(ctx, rest); err != nil {
			return err
		}
	}
	return nil
}

// after returns the records of the namespace that change with the removal of objects.
func (s recordStore) after(ctx context.Context, i Installation, removal deploy.Removal, removed []*unstructured.Unstructured) ([]deploy.Record, error) {
	others, err := s.others(ctx, i)
	if err != nil {
		return nil, err
	}
	var records []deploy.Record
	for _, other := range others {
		if rest, changed := other.Without(removed); changed {
			records = append(records, rest)
		}
	}
	record, err := s.of(ctx, i)
	if err == nil && record.Version != "" {
		records = append(records, removal.RecordAfter(record, removed))
	}
	return records, err
}
