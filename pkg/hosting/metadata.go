package hosting

import (
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

func checkConvertible[T runtime.Object]() error {
	t := reflect.TypeFor[T]()
	if t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct {
		return fmt.Errorf("its conversion takes %s: use a pointer to a struct, such as *corev1.Pod", t)
	}
	switch any(newObject[T]()).(type) {
	case *unstructured.Unstructured, metav1.ObjectMetaAccessor:
		return nil
	}
	return fmt.Errorf("its conversion takes %s, which has no metav1.ObjectMeta", t)
}

func newObject[T runtime.Object]() T {
	object := reflect.New(reflect.TypeFor[T]().Elem()).Interface().(T)
	if u, ok := any(object).(*unstructured.Unstructured); ok {
		u.Object = map[string]any{}
	}
	return object
}

func copyMetadata(from, to runtime.Object) error {
	metadata, err := metadataOf(from)
	if err != nil {
		return err
	}
	switch to := to.(type) {
	case *unstructured.Unstructured:
		to.Object["metadata"], err = runtime.DefaultUnstructuredConverter.ToUnstructured(metadata)
	case metav1.ObjectMetaAccessor:
		if m, ok := to.GetObjectMeta().(*metav1.ObjectMeta); ok {
			*m = *metadata
		}
	}
	return err
}

func metadataOf(object runtime.Object) (*metav1.ObjectMeta, error) {
	switch object := object.(type) {
	case *unstructured.Unstructured:
		metadata := &metav1.ObjectMeta{}
		fields, _, err := unstructured.NestedMap(object.Object, "metadata")
		if err == nil && fields != nil {
			err = runtime.DefaultUnstructuredConverter.FromUnstructured(fields, metadata)
		}
		return metadata, err
	case metav1.ObjectMetaAccessor:
		if m, ok := object.GetObjectMeta().(*metav1.ObjectMeta); ok {
			return m.DeepCopy(), nil
		}
	}
	return nil, fmt.Errorf("%T has no metav1.ObjectMeta", object)
}
