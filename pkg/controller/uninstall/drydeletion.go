package uninstall

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// dryDeletion sets the option of the body: API servers ignore the parameter dryRun of a deletion with options.
func dryDeletion(r *http.Request) (*http.Request, error) {
	var text []byte
	if r.Body != nil {
		var err error
		text, err = io.ReadAll(r.Body)
		_ = r.Body.Close()
		if err != nil {
			return nil, err
		}
	}
	options, err := deleteOptions(text)
	if err != nil {
		return nil, fmt.Errorf("options of the deletion of %s: %w", objectOf(r.URL.Path), err)
	}
	options.TypeMeta = metav1.TypeMeta{Kind: "DeleteOptions", APIVersion: "v1"}
	options.DryRun = []string{metav1.DryRunAll}
	if text, err = json.Marshal(options); err != nil {
		return nil, err
	}
	dry := r.Clone(r.Context())
	dry.Header.Set("Content-Type", runtime.ContentTypeJSON)
	dry.Header.Set("Accept", runtime.ContentTypeJSON)
	dry.Body, dry.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	dry.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil }
	return dry, nil
}

// protobufPrefix begins every object that a client sends as protobuf.
var protobufPrefix = []byte("k8s\x00")

// deleteOptions decodes what clients send: JSON, or an envelope of protobuf.
func deleteOptions(text []byte) (options metav1.DeleteOptions, err error) {
	if len(text) == 0 {
		return options, nil
	}
	message, isProtobuf := bytes.CutPrefix(text, protobufPrefix)
	if !isProtobuf {
		return options, json.Unmarshal(text, &options)
	}
	var envelope runtime.Unknown
	if err := envelope.Unmarshal(message); err != nil {
		return options, err
	}
	return options, options.Unmarshal(envelope.Raw)
}
