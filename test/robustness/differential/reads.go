package differential

import (
	"context"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
)

// lists reports whether the answer of a step is a list.
func (s step) lists() bool { return s.verb == "list" || s.verb == "pages" || s.verb == "exact" }

// list returns the names and labels of the objects of the sequence: the objects that a selector selects, all in pages of one, or all at an earlier
// revision.
func (s *side) list(ctx context.Context, resource dynamic.ResourceInterface, step step) (*unstructured.Unstructured, error) {
	options := metav1.ListOptions{LabelSelector: "tier in (a, b)"}
	switch version := s.version(step); {
	case step.verb == "pages":
		options = metav1.ListOptions{Limit: 1}
	case step.verb == "exact" && version != "":
		options = metav1.ListOptions{ResourceVersion: version, ResourceVersionMatch: metav1.ResourceVersionMatchExact}
	}
	found := object{}
	for {
		list, err := resource.List(ctx, options)
		if err != nil {
			return nil, err
		}
		for _, o := range list.Items {
			if strings.HasPrefix(o.GetName(), step.prefix()) {
				found[o.GetName()] = fmt.Sprint(o.GetLabels(), o.GetAnnotations(), o.GetGeneration())
			}
		}
		if options.Continue = list.GetContinue(); options.Continue == "" {
			return &unstructured.Unstructured{Object: found}, nil
		}
	}
}

// prefix is that of the names of all objects of the sequence.
func (s step) prefix() string {
	name := s.objectName()
	return name[:strings.LastIndex(name, s.name[len(s.name)-1:])]
}

// history returns what a watch from the first observed version of an object shows, until a new object with another name.
func (s *side) history(ctx context.Context, k kind, name string) ([]string, error) {
	if len(s.versions[name]) == 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	resource, last := s.resource(k), step{kind: k, name: name[:len(name)-1] + "z"}
	if _, err := resource.Create(ctx, &unstructured.Unstructured{Object: k.base(last.name)}, metav1.CreateOptions{}); err != nil {
		return nil, err
	}
	defer func() { _ = resource.Delete(context.WithoutCancel(ctx), last.objectName(), metav1.DeleteOptions{}) }() // the next sequence has other names
	w, err := resource.Watch(ctx, metav1.ListOptions{ResourceVersion: s.versions[name][0]})
	if err != nil {
		return nil, err
	}
	defer w.Stop()
	var events []string
	for e := range w.ResultChan() {
		o, ok := e.Object.(*unstructured.Unstructured)
		if !ok {
			return nil, fmt.Errorf("%v", e.Object)
		}
		if o.GetName() == last.objectName() {
			return events, nil
		}
		if strings.HasPrefix(o.GetName(), last.prefix()) {
			events = append(events, fmt.Sprint(e.Type, " ", o.GetName(), " ", o.GetLabels(), " ", o.GetGeneration()))
		}
	}
	return nil, ctx.Err()
}
