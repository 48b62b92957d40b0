package faults

import (
	"errors"
	"fmt"
	"strings"
)

// fileFaults are file systems without room.
func fileFaults() []Fault {
	return []Fault{
		{
			Name: "full disk", Does: "The file system for results, logs and temporary files has no space left.",
			Job: fullDiskJob, Strike: strikeDisk, Missing: missingMounts,
		},
		{
			Name: "full /dev/shm", Does: "/dev/shm has no space from the start.",
			Job: fullSharedMemoryJob, Missing: missingMounts,
		},
	}
}

// missingMounts tells whether file systems can be mounted that nobody else sees.
func missingMounts(r *Room) string {
	if !r.Private {
		return "no mount namespace can be made"
	}
	return ""
}

// smallDisk goes on in a mount namespace with a small file system at a folder of the scene.
const smallDisk = `mkdir -p $SCENE/disk
exec unshare -m sh -c 'mount -t tmpfs -o size=%s none $SCENE/disk
%s
exec "$@"' sh "$@"`

// fullDiskJob writes to a disk that is full: temporary files, logs of a worker, results.
func fullDiskJob(c Cell) Job {
	switch {
	case c.Moment == BeforeJoin:
		job := programJob(c)
		job.Ready = nil
		job.Shell = fmt.Sprintf(smallDisk, "8k,nr_inodes=1", "export TMPDIR=$SCENE/disk")
		return job
	case c.Victim == Worker: // it writes the file itself
		job := programJob(c, "--log-dir", "disk", "-r", "3")
		job.Shell = "cd $SCENE\n" + fmt.Sprintf(smallDisk, "64k", "")
		return job
	case c.Moment == AtEnd:
		args := []string{"--device", "sim", "--nproc-per-node", "2", "allreduce", "-e", "1K", "-J", "disk/results.json"}
		return Job{
			Nodes: [][]string{args},
			Shell: "cd $SCENE\n" + fmt.Sprintf(smallDisk, "4k", "head -c 9000 /dev/zero >$SCENE/disk/full 2>&-"),
		}
	}
	job := programJob(c, "--log-dir", "disk", "-t", "3") // the agent writes the file
	job.Shell = "cd $SCENE\n" + fmt.Sprintf(smallDisk, "64k", "")
	return job
}

// strikeDisk has the worker fill the disk by its output. The worker ignores that its writes fail.
func strikeDisk(s *Scene) error {
	if s.job.Ready == nil {
		return nil
	}
	const ignores = "(head -c 100000 /dev/zero | tr '\\0' x) 2>&-; echo 'the last line' || true; exit 0"
	return errors.Join(s.tell(rankToHit, ignores), s.tell(rankBeside, "exit 0"))
}

// fullSharedMemoryJob has a /dev/shm that is full from the start, and measures something short.
func fullSharedMemoryJob(c Cell) Job {
	args := strings.Fields("--device sim --nproc-per-node 2 --log-level debug allreduce -e 64K -n 3")
	return Job{
		Nodes: [][]string{args},
		Shell: `exec unshare -m sh -c 'mount -t tmpfs -o size=4k none /dev/shm
head -c 9000 /dev/zero >/dev/shm/full 2>&-
exec "$@"' sh "$@"`,
	}
}
