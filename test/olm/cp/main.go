// Command cp copies one file: cp [-FLAG...] SOURCE DESTINATION. The Jobs with which catalog-operator unpacks the image of a
// bundle run it from an image that has no other programs.
package main

import (
	"fmt"
	"io"
	"os"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: cp [-FLAG...] SOURCE DESTINATION")
		os.Exit(2)
	}
	if err := copyFile(os.Args[len(os.Args)-2], os.Args[len(os.Args)-1]); err != nil {
		fmt.Fprintf(os.Stderr, "cp: %v\n", err)
		os.Exit(1)
	}
}

func copyFile(source, destination string) error {
	from, err := os.Open(source)
	if err != nil {
		return err
	}
	defer from.Close()
	info, err := from.Stat()
	if err != nil {
		return err
	}
	to, err := os.OpenFile(destination, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, info.Mode())
	if err != nil {
		return err
	}
	if _, err := io.Copy(to, from); err != nil {
		to.Close()
		return err
	}
	return to.Close()
}
