import re,sys,subprocess,os
seed,run,pat=sys.argv[1:4]
n=str(int(seed)-99)
out=subprocess.run(['./vb',n,sys.argv[4] if len(sys.argv)>4 else 'plb-hec'],env=dict(os.environ,DUMP=seed,RUN=run,ONLY=pat),capture_output=True,text=True).stdout
b=[]
for l in out.splitlines():
    m=re.match(r'p(\d+) given (\S+) start (\S+) end (\S+) units (\d+)(.*)',l)
    if m: b.append((float(m[4]),int(m[1]),float(m[2]),float(m[3]),int(m[5]),m[6]))
    elif l.startswith('least'): print(l[:150])
b.sort()
done=[]
for x in b[::-1]:
    if x[1] in done: continue
    done.append(x[1])
    if len(done)>3 and len(done) < len(set(y[1] for y in b))-1: continue
    print('p%d'%x[1], [(round(y[3],3),round(y[0],3),y[4],round((y[0]-y[3])/y[4]*1e6,1)) for y in b if y[1]==x[1]][-12:])
