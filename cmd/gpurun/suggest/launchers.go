package suggest

// launcherHabits are flags of other launchers: mpirun, srun, horovodrun, deepspeed, docker run, ncu and nsys.
var launcherHabits = []habit{
	{
		[]string{
			"-n", "-np", "--np", "--n", "--ntasks", "--num-procs", "-npernode", "--npernode", "-ppn", "--ppn",
			"-perhost", "--perhost", "--num-processes", "--ntasks-per-node", "--tasks-per-node", "-map-by", "--map-by",
		},
		"--nproc-per-node sets the number of processes",
	},
	{
		[]string{
			"-g", "--ngpu", "--ngpus", "--nthreads", "--gpus", "--num-gpus", "--gres", "-G", "--gpus-per-node",
			"--gpus-per-task", "--multi-gpu",
		},
		"--nproc-per-node sets the number of GPUs",
	},
	{[]string{"-N", "--nodes", "--num-nodes", "--num-machines"}, "--nnodes sets the number of machines"},
	{[]string{"--min-np", "--max-np", "--host-discovery-script"}, "--nnodes MIN:MAX sets the machines of an elastic job"},
	{
		[]string{
			"-host", "--host", "-H", "--hosts", "-hostfile", "--hostfile", "-machinefile", "--machinefile", "-f", "-launcher",
			"-rf", "--rankfile", "-nolocal", "--nolocal",
		},
		"gpurun is started once on each machine: --nnodes, --node-rank and --master-addr say which one this is",
	},
	{
		[]string{
			"-bind-to", "--bind-to", "--bind-to-core", "--cpu-bind", "--cpus-per-task", "--rank-by", "--report-bindings",
			"--use-hwthread-cpus", "--cpus", "-c",
		},
		"--numa-binding binds processes to the CPUs near their GPUs",
	},
	{
		[]string{
			"-bind-to", "--bind-to", "--bind-to-core", "--cpu-bind", "--cpus-per-task", "--rank-by", "--report-bindings",
			"--use-hwthread-cpus", "--cpus", "-c",
		},
		"binding to CPUs applies to launched programs: leave it out",
	},
	{[]string{"--machine-rank"}, "--node-rank sets the number of this machine"},
	{[]string{"--main-process-ip"}, "--master-addr sets the address of the first machine"},
	{[]string{"--main-process-port"}, "--master-port sets the port of the first machine"},
	{[]string{"--enable-recovery", "--restart", "--max-retries"}, "--max-restarts sets how often workers start again"},
	{[]string{"--kill-on-bad-exit"}, "a rank that fails ends all others: leave it out"},
	{[]string{"-timeout", "--timeout"}, "write timeout SECONDS in front of gpurun"},
	{[]string{"-display-map", "--display-map"}, "--log-level debug says more"},
	{[]string{"--start-timeout"}, "--join-timeout sets how long a node waits for the others"},
	{
		[]string{"--network-interface", "--network-interfaces"},
		"processes inherit NCCL_SOCKET_IFNAME, by which NCCL chooses",
	},
	{
		[]string{"--timeline-filename", "--autotune", "--fusion-threshold-mb", "--cycle-time-ms", "--cache-capacity"},
		"Horovod reads it from a variable, such as HOROVOD_TIMELINE, which processes inherit",
	},
	{[]string{"--gloo", "--mpi", "--mca", "-mca", "--prtemca", "--launcher"}, "gpurun needs no MPI: leave it out"},
	{[]string{"--allow-run-as-root"}, "gpurun runs as any user: leave it out"},
	{
		[]string{"--tag-output", "-tag-output", "-l", "--label", "--timestamp-output", "-prepend-rank"},
		"each line of a process has its rank in front: leave it out",
	},
	{
		[]string{"-wdir", "--wdir", "-wd", "--wd", "--chdir", "-D", "--workdir"},
		"processes start in the current folder: use cd before",
	},
	{[]string{"--include", "--exclude"}, "CUDA_VISIBLE_DEVICES selects GPUs"},
	{[]string{"--deepspeed", "--deepspeed-config"}, "it belongs to the script: write it behind SCRIPT.py"},
	{
		[]string{"--mixed-precision", "--dynamo-backend"},
		"Accelerate reads it from a variable, such as ACCELERATE_MIXED_PRECISION, which processes inherit",
	},
	{[]string{"--no-ssh", "--ssh-port"}, "gpurun starts nothing on other machines: leave it out"},
	{[]string{"--use-env"}, "gpurun always sets LOCAL_RANK, as that asks for: leave it out"},
	{
		[]string{
			"-p", "--partition", "-A", "--account", "-J", "--job-name", "--time", "--qos", "--mem", "--exclusive", "-w",
			"--nodelist", "--constraint", "--reservation", "--container-image", "--container-mounts",
		},
		"gpurun allocates no machines: write it behind srun, in front of gpurun",
	},
	{
		[]string{
			"--set", "--section", "--target-processes", "-k", "--kernel-name", "--metrics", "--launch-count", "--launch-skip",
			"--nvtx", "--trace", "--profile-from-start",
		},
		"gpurun is no profiler: write it behind ncu or nsys, in front of gpurun",
	},
	{
		[]string{
			"-it", "-i", "--rm", "--ipc", "--shm-size", "--privileged", "-v", "--volume", "--network", "--name", "--entrypoint",
			"-u", "--user", "--mount", "--cap-add", "--ulimit", "-d", "--detach", "--runtime", "--memory", "--init", "--pid",
			"--env-file", "--publish",
		},
		"gpurun starts no containers: write it behind docker run, in front of the image",
	},
	{
		[]string{"-e", "-x", "--env", "-genv", "-genvall", "-env", "--export"},
		"processes inherit the environment: write NAME=VALUE gpurun COMMAND",
	},
	{[]string{"-o", "--output", "-output-filename", "--output-filename"}, "--log-dir keeps what each process prints"},
	{[]string{"--namespace", "--context", "--kubeconfig"}, "kubectl is for that: see docs/kubernetes.md"},
	{[]string{"--check-build"}, "gpurun version says how it was built"},
}
