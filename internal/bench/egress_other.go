//go:build !linux

package main

import "errors"

func (b *bench) egress() error { return errors.New("networks of their own need Linux") }
