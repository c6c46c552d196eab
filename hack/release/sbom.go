package main

import (
	"bytes"
	"cmp"
	"debug/buildinfo"
	"maps"
	"runtime/debug"
	"slices"
	"time"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
)

func (r *release) writeBill(program string, executables []string) error {
	var modules []*debug.Module
	goVersion := ""
	for _, executable := range executables {
		info, err := buildinfo.ReadFile(executable)
		if err != nil {
			return err
		}
		modules, goVersion = append(modules, info.Deps...), info.GoVersion
	}
	bill := billOf(program, r.version, goVersion, r.time, modules)
	var text bytes.Buffer
	if err := cyclonedx.NewBOMEncoder(&text, cyclonedx.BOMFileFormatJSON).SetPretty(true).Encode(bill); err != nil {
		return err
	}
	return r.store(program+"_"+r.version+".cdx.json", text.Bytes())
}

// billOf lists each module once, also if the programs of several platforms have it.
func billOf(program, version, goVersion string, built time.Time, modules []*debug.Module) *cyclonedx.BOM {
	components := map[string]cyclonedx.Component{}
	for _, module := range modules {
		c := moduleComponent(origin(module, version))
		components[c.BOMRef] = c
	}
	std := moduleComponent("std", goVersion[len("go"):])
	components[std.BOMRef] = std
	bill := cyclonedx.NewBOM()
	main := moduleComponent("github.com/olm-webhook-manager/olm-webhook-manager", version)
	main.Type, main.Name = cyclonedx.ComponentTypeApplication, program
	main.Licenses = &cyclonedx.Licenses{{License: &cyclonedx.License{ID: "Apache-2.0"}}}
	bill.Metadata = &cyclonedx.Metadata{Timestamp: built.Format(time.RFC3339), Component: &main}
	sorted := slices.SortedFunc(maps.Values(components), func(a, b cyclonedx.Component) int { return cmp.Compare(a.BOMRef, b.BOMRef) })
	bill.Components = &sorted
	return bill
}

// origin returns the module whose code a program has. One that is replaced by a directory is part of the release.
func origin(module *debug.Module, version string) (path, ofVersion string) {
	switch {
	case module.Replace == nil:
		return module.Path, module.Version
	case module.Replace.Version == "(devel)":
		return module.Path, version
	default:
		return module.Replace.Path, module.Replace.Version
	}
}

func moduleComponent(path, version string) cyclonedx.Component {
	purl := "pkg:golang/" + path + "@" + version
	return cyclonedx.Component{Type: cyclonedx.ComponentTypeLibrary, BOMRef: purl, Name: path, Version: version, PackageURL: purl}
}
