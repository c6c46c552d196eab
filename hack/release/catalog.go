package main

import (
	"bytes"
	"encoding/base64"
	"io/fs"
	"strings"

	"sigs.k8s.io/yaml"
)

const channel = "stable"

// catalogOf returns a file-based catalog with one version: https://olm.operatorframework.io/docs/reference/file-based-catalogs.
func catalogOf(version string, bundleImage image, bundle fs.FS) ([]byte, error) {
	number := strings.TrimPrefix(version, "v")
	name := managerOf + ".v" + number
	properties := []map[string]any{
		{"type": "olm.package", "value": map[string]string{"packageName": managerOf, "version": number}},
		{"type": "olm.gvk", "value": map[string]string{"group": "olm-webhook-manager.io", "kind": "WebhookRollout", "version": "v1alpha1"}},
	}
	manifests, err := fs.Glob(bundle, "manifests/*.yaml")
	if err != nil {
		return nil, err
	}
	for _, file := range manifests {
		text, err := fs.ReadFile(bundle, file)
		if err != nil {
			return nil, err
		}
		object, err := yaml.YAMLToJSON(text)
		if err != nil {
			return nil, err
		}
		properties = append(properties, map[string]any{"type": "olm.bundle.object", "value": map[string]string{"data": base64.StdEncoding.EncodeToString(object)}})
	}
	var catalog bytes.Buffer
	for _, document := range []map[string]any{
		{"schema": "olm.package", "name": managerOf, "defaultChannel": channel},
		{"schema": "olm.channel", "package": managerOf, "name": channel, "entries": []map[string]string{{"name": name}}},
		{"schema": "olm.bundle", "package": managerOf, "name": name, "image": bundleImage.pinned(), "properties": properties},
	} {
		text, err := yaml.Marshal(document)
		if err != nil {
			return nil, err
		}
		catalog.WriteString("---\n")
		catalog.Write(text)
	}
	return catalog.Bytes(), nil
}
