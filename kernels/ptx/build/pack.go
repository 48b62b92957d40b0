package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"

	"gpurun/kernels/ptx"
	"gpurun/kernels/ptx/pack"
)

// packed is the folder of the compressed PTX, which the binary has, below that of the text, which people read.
const packed = "packed"

// mostDictionaries is how many other modules are unpacked before a module, at most.
const mostDictionaries = 6

// packAll compresses the modules of a folder whose compressed file holds something else, writes the name of their
// compiler beside them, and removes other files. The dictionary of a module is the earlier module of its source with
// which it gets smallest.
func packAll(folder string, m ptx.Manifest) error {
	if err := os.MkdirAll(filepath.Join(folder, packed), 0o755); err != nil {
		return err
	}
	p := packer{folder, func(module string) ([]byte, error) {
		return os.ReadFile(filepath.Join(folder, module+".ptx"))
	}, map[string]int{}}
	compiler := filepath.Join(folder, packed, ptx.CompilerFile)
	if err := os.WriteFile(compiler, []byte(m.Compiler+"\n"), 0o644); err != nil {
		return err
	}
	wanted, earlier := map[string]bool{compiler: true}, map[string][]string{}
	for _, m := range m.Modules {
		wanted[p.file(m.Name)] = true
		if err := p.pack(m.Name, earlier[m.Source]); err != nil {
			return err
		}
		if p.depth[m.Name] < mostDictionaries {
			earlier[m.Source] = append(earlier[m.Source], m.Name)
		}
	}
	files, err := filepath.Glob(filepath.Join(folder, packed, "*"))
	if err != nil {
		return err
	}
	for _, file := range files {
		if wanted[file] {
			continue
		}
		if err := os.Remove(file); err != nil {
			return err
		}
	}
	return nil
}

// packer packs modules one after the other.
type packer struct {
	folder string
	text   pack.Text
	depth  map[string]int // how many other modules are unpacked before a module
}

func (p packer) file(module string) string {
	return filepath.Join(p.folder, packed, pack.FileOf(module))
}

// packed reads the packed file of a module.
func (p packer) packed(module string) ([]byte, error) { return os.ReadFile(p.file(module)) }

// pack packs a module with one of some dictionaries, or none. It leaves a file as it is that holds the text: another
// version of the library may compress to other bytes.
func (p packer) pack(module string, dictionaries []string) error {
	want, err := p.text(module)
	if err != nil {
		return err
	}
	if old, err := os.ReadFile(p.file(module)); err == nil {
		dictionary := pack.Dictionary(old)
		usable := dictionary == "" || slices.Contains(dictionaries, dictionary)
		if had, err := pack.Unpack(old, p.packed); err == nil && usable && bytes.Equal(had, want) {
			p.note(module, dictionary)
			return nil
		}
	}
	var least []byte
	for _, dictionary := range append([]string{""}, dictionaries...) {
		data, err := pack.Pack(want, dictionary, p.text)
		if err != nil {
			return err
		}
		if least == nil || len(data) < len(least) {
			least = data
		}
	}
	p.note(module, pack.Dictionary(least))
	return os.WriteFile(p.file(module), least, 0o644)
}

func (p packer) note(module, dictionary string) {
	if dictionary != "" {
		p.depth[module] = p.depth[dictionary] + 1
	}
}
