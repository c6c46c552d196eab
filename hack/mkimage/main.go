// Command mkimage writes an image archive with one static Go program in it, without
// Docker and on top of no other image:
//
//	go run ./hack/mkimage -o out.tar -t docker.io/olm-webhook-manager/NAME:dev [-user 65532:65532] BINARY... [HOSTFILE=/path/in/image ...]
//
// or with the files of a bundle, and the annotations of its metadata as labels:
//
//	go run ./hack/mkimage -o out.tar -t docker.io/olm-webhook-manager/NAME:dev -bundle DIRECTORY
//
// Several binaries are the same program for several architectures: the archive then has an index
// with an image for each. The same input and Go version give the same digest, which it prints. The
// archive is an OCI image layout in a tar file. It has the image under the name with the tag, and
// under the name with the digest.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
)

func main() {
	out := flag.String("o", "", "archive to write")
	name := flag.String("t", "", "complete name of the image, such as docker.io/olm-webhook-manager/NAME:dev")
	user := flag.String("user", "65532:65532", "user and group that the program runs as")
	bundle := flag.String("bundle", "", "directory of a bundle, in place of a binary")
	flag.Usage = usage
	flag.Parse()
	binaries := lists.Filter(flag.Args(), func(argument string) bool { return !strings.Contains(argument, "=") })
	if *out == "" || *name == "" || (len(binaries) == 0) == (*bundle == "") {
		usage()
		os.Exit(2)
	}
	extra := lists.Filter(flag.Args(), func(argument string) bool { return strings.Contains(argument, "=") })
	write := func() (string, error) { return writeImage(*out, *name, *user, binaries, extra) }
	if *bundle != "" {
		write = func() (string, error) { return writeBundleImage(*out, *name, os.DirFS(*bundle)) }
	}
	digest, err := write()
	if err != nil {
		fmt.Fprintf(os.Stderr, "mkimage: %v\n", err)
		os.Exit(1)
	}
	fmt.Printf("%s %s\n", digest, *name)
}

func usage() {
	fmt.Fprintln(os.Stderr, "usage: mkimage -o ARCHIVE -t NAME [-user UID:GID] BINARY... [HOSTFILE=/path/in/image ...]")
	fmt.Fprintln(os.Stderr, "       mkimage -o ARCHIVE -t NAME -bundle DIRECTORY")
	flag.PrintDefaults()
}

// writeImage returns the digest of the image, or of the index if there are several binaries. Each extra
// file is HOSTFILE=/path/in/image.
func writeImage(out, name, user string, binaries, extra []string) (string, error) {
	images := make([]v1.Image, 0, len(binaries))
	for _, binary := range binaries {
		image, err := imageOf(binary, user, extra)
		if err != nil {
			return "", err
		}
		images = append(images, image)
	}
	named, err := indexOf(images)
	if err != nil {
		return "", err
	}
	if err := writeArchive(out, name, named); err != nil {
		return "", fmt.Errorf("write %s: %w", out, err)
	}
	digest, err := named.Digest()
	return digest.String(), err
}

func imageOf(binary, user string, extra []string) (v1.Image, error) {
	architecture, err := architectureOf(binary)
	if err != nil {
		return nil, err
	}
	program, err := readProgram(binary)
	if err != nil {
		return nil, err
	}
	files := []file{program}
	for _, mapping := range extra {
		f, err := readMapped(mapping)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return newImage(files, architecture, v1.Config{Entrypoint: []string{program.path}, User: user, WorkingDir: "/"})
}
